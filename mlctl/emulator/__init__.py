"""The local cloud, served as the Azure Resource Manager REST API of Azure Machine Learning.

`Emulator` is a function `Request -> Response`; `server` puts a socket in front of it.
"""

from mlctl.emulator.emulator import Emulator
from mlctl.emulator.http.messages import Request, Response
from mlctl.emulator.requests.settings import EmulatorSettings

__all__ = ["Emulator", "EmulatorSettings", "Request", "Response"]
