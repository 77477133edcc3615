_mlctl_completion() {
    local IFS=$'\n'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \
                   COMP_CWORD=$COMP_CWORD \
                   _MLCTL_COMPLETE=complete_bash $1 ) )
    return 0
}

complete -o default -F _mlctl_completion mlctl
