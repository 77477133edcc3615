# mlctl in a container, as CI uses it:
#
#   docker build -t mlctl .
#   docker run --rm -v "$PWD:/work" mlctl validate .
#
# Python and the wheel, nothing else; it runs as a user, and writes to /work alone.
FROM python:3.13-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --wheel-dir /wheels "/src[azure,emulator]"

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "mlctl[azure,emulator]" \
    && useradd --create-home mlctl
USER mlctl
WORKDIR /work
ENTRYPOINT ["mlctl"]
CMD ["--help"]
