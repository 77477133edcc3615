# mlctl in a container, as CI uses it:
#
#   docker build -t mlctl .
#   docker run --rm -v "$PWD:/work" mlctl validate .
#
# Python, mlctl and what constraints.txt names, by its hashes; it runs as a user, and writes to /work
# alone.
FROM python:3.13-slim AS build
COPY . /src
RUN python -m venv /mlctl \
    && /mlctl/bin/pip install --no-cache-dir --require-hashes --requirement /src/constraints.txt \
    && /mlctl/bin/pip install --no-cache-dir --no-deps --no-build-isolation /src

FROM python:3.13-slim
COPY --from=build /mlctl /mlctl
RUN useradd --create-home mlctl
ENV PATH="/mlctl/bin:$PATH"
USER mlctl
WORKDIR /work
ENTRYPOINT ["mlctl"]
CMD ["--help"]
