# sh, bash and zsh; put it into a script, a profile or a step of CI:  eval "$(mlctl az-shim)"
unset -f az 2>/dev/null || true
unalias az 2>/dev/null || true
PATH=@FOLDER@:"$PATH"
MLCTL_LOCAL_DB="${MLCTL_LOCAL_DB:-$PWD/@STATE@}"
export PATH MLCTL_LOCAL_DB
hash -r 2>/dev/null || true
