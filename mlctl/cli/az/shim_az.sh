#!/bin/sh
# mlctl az-shim: `az ml` goes to mlctl; made by `mlctl az-shim`, and to be removed with its folder.
@VARIABLES@
exec @PYTHON@ -P -m mlctl az "$@"
