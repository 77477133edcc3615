#compdef mlctl

_mlctl_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _MLCTL_COMPLETE=complete_zsh mlctl)
}

compdef _mlctl_completion mlctl
