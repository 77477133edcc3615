#!/bin/sh
# mlctl az-shim: while the backend is local, requests to Azure go to mlctl's emulator.
case "$*" in
*azure.com* | *azureml.ms* | *microsoftonline.com*)
  export MLCTL_CURL=@CURL@
  exec @PYTHON@ -P -m mlctl az --curl "$@"
  ;;
esac
exec @CURL@ "$@"
