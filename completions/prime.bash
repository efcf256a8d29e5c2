# Completion of `prime` for bash. Made by `python -m prime_cli.commands.tree`; do not edit.
_prime() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local at=prime index words= options=
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at ${COMP_WORDS[index]}" in
      'prime env') at='prime env' ;;
      'prime eval') at='prime eval' ;;
      'prime hub') at='prime hub' ;;
      'prime config') at='prime config' ;;
      'prime whoami') at='prime whoami' ;;
      'prime completion') at='prime completion' ;;
      'prime env init') at='prime env init' ;;
      'prime env build') at='prime env build' ;;
      'prime env upload') at='prime env upload' ;;
      'prime env push') at='prime env upload' ;;
      'prime env install') at='prime env install' ;;
      'prime env uninstall') at='prime env uninstall' ;;
      'prime env pull') at='prime env pull' ;;
      'prime env info') at='prime env info' ;;
      'prime env status') at='prime env status' ;;
      'prime env list') at='prime env list' ;;
      'prime env versions') at='prime env versions' ;;
      'prime env delete') at='prime env delete' ;;
      'prime env inspect') at='prime env inspect' ;;
      'prime eval run') at='prime eval run' ;;
      'prime eval list') at='prime eval list' ;;
      'prime eval show') at='prime eval show' ;;
      'prime hub serve') at='prime hub serve' ;;
      'prime config show') at='prime config show' ;;
      'prime config view') at='prime config show' ;;
    esac
  done
  case "$at $previous" in
    'prime --context') :; return ;;
    'prime env init --template') COMPREPLY=($(compgen -W "single-turn multi-turn tool" -- "$current")); return ;;
    'prime env init --path'|'prime env init -p') :; return ;;
    'prime env init --output'|'prime env init -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env build --out-dir') :; return ;;
    'prime env build --output'|'prime env build -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env upload --path'|'prime env upload -p') :; return ;;
    'prime env upload --name'|'prime env upload -n') :; return ;;
    'prime env upload --visibility'|'prime env upload -v') COMPREPLY=($(compgen -W "PUBLIC PRIVATE" -- "$current")); return ;;
    'prime env upload --owner'|'prime env upload -o') :; return ;;
    'prime env upload --team'|'prime env upload -t') :; return ;;
    'prime env upload --runtime') COMPREPLY=($(compgen -W "v0 v1" -- "$current")); return ;;
    'prime env upload --allow-secrets') :; return ;;
    'prime env upload --context') :; return ;;
    'prime env upload --output') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env install --with') COMPREPLY=($(compgen -W "uv pip" -- "$current")); return ;;
    'prime env install --path'|'prime env install -p') :; return ;;
    'prime env install --python') :; return ;;
    'prime env install --output'|'prime env install -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env install --context') :; return ;;
    'prime env uninstall --with') COMPREPLY=($(compgen -W "uv pip" -- "$current")); return ;;
    'prime env uninstall --python') :; return ;;
    'prime env uninstall --output'|'prime env uninstall -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env pull --target'|'prime env pull -t') :; return ;;
    'prime env pull --version'|'prime env pull -v') :; return ;;
    'prime env pull --output'|'prime env pull -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env pull --context') :; return ;;
    'prime env info --version'|'prime env info -v') :; return ;;
    'prime env info --output'|'prime env info -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env info --context') :; return ;;
    'prime env status --output'|'prime env status -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env status --context') :; return ;;
    'prime env list --num'|'prime env list -n'|'prime env list --limit'|'prime env list -l') :; return ;;
    'prime env list --page'|'prime env list -p') :; return ;;
    'prime env list --owner') :; return ;;
    'prime env list --visibility') COMPREPLY=($(compgen -W "public private" -- "$current")); return ;;
    'prime env list --search'|'prime env list -s') :; return ;;
    'prime env list --tag'|'prime env list -t'|'prime env list --tags') :; return ;;
    'prime env list --sort') COMPREPLY=($(compgen -W "name created_at updated_at stars" -- "$current")); return ;;
    'prime env list --order') COMPREPLY=($(compgen -W "asc desc" -- "$current")); return ;;
    'prime env list --python') :; return ;;
    'prime env list --output'|'prime env list -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env list --context') :; return ;;
    'prime env versions --output'|'prime env versions -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env versions --context') :; return ;;
    'prime env delete --output'|'prime env delete -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env delete --context') :; return ;;
    'prime env inspect --version'|'prime env inspect -v') :; return ;;
    'prime env inspect --max-bytes') :; return ;;
    'prime env inspect --output'|'prime env inspect -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime env inspect --context') :; return ;;
    'prime eval --model'|'prime eval -m') :; return ;;
    'prime eval --num-examples'|'prime eval -n') :; return ;;
    'prime eval --rollouts-per-example'|'prime eval -r') :; return ;;
    'prime eval --max-concurrent'|'prime eval --max-concurrent-requests'|'prime eval -c') :; return ;;
    'prime eval --max-tokens'|'prime eval -t') :; return ;;
    'prime eval --temperature'|'prime eval -T') :; return ;;
    'prime eval --sampling-args'|'prime eval -S') :; return ;;
    'prime eval --env-args'|'prime eval -a') :; return ;;
    'prime eval --extra-env-kwargs'|'prime eval -x') :; return ;;
    'prime eval --api-base-url'|'prime eval -b') :; return ;;
    'prime eval --api-key-var'|'prime eval -k') :; return ;;
    'prime eval --endpoints-path'|'prime eval -e') :; return ;;
    'prime eval --provider'|'prime eval -p') :; return ;;
    'prime eval --header') :; return ;;
    'prime eval --env-var') :; return ;;
    'prime eval --state-columns'|'prime eval -C') :; return ;;
    'prime eval --max-retries') :; return ;;
    'prime eval --max-error-rate') :; return ;;
    'prime eval --verifiers') :; return ;;
    'prime eval --python') :; return ;;
    'prime eval --hf-hub-dataset-name'|'prime eval -D') :; return ;;
    'prime eval --output') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime eval --context') :; return ;;
    'prime eval run --model'|'prime eval run -m') :; return ;;
    'prime eval run --num-examples'|'prime eval run -n') :; return ;;
    'prime eval run --rollouts-per-example'|'prime eval run -r') :; return ;;
    'prime eval run --max-concurrent'|'prime eval run --max-concurrent-requests'|'prime eval run -c') :; return ;;
    'prime eval run --max-tokens'|'prime eval run -t') :; return ;;
    'prime eval run --temperature'|'prime eval run -T') :; return ;;
    'prime eval run --sampling-args'|'prime eval run -S') :; return ;;
    'prime eval run --env-args'|'prime eval run -a') :; return ;;
    'prime eval run --extra-env-kwargs'|'prime eval run -x') :; return ;;
    'prime eval run --api-base-url'|'prime eval run -b') :; return ;;
    'prime eval run --api-key-var'|'prime eval run -k') :; return ;;
    'prime eval run --endpoints-path'|'prime eval run -e') :; return ;;
    'prime eval run --provider'|'prime eval run -p') :; return ;;
    'prime eval run --header') :; return ;;
    'prime eval run --env-var') :; return ;;
    'prime eval run --state-columns'|'prime eval run -C') :; return ;;
    'prime eval run --max-retries') :; return ;;
    'prime eval run --max-error-rate') :; return ;;
    'prime eval run --verifiers') :; return ;;
    'prime eval run --python') :; return ;;
    'prime eval run --hf-hub-dataset-name'|'prime eval run -D') :; return ;;
    'prime eval run --output') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime eval run --context') :; return ;;
    'prime eval list --num'|'prime eval list -n') :; return ;;
    'prime eval list --page'|'prime eval list -p') :; return ;;
    'prime eval list --env'|'prime eval list --env-name'|'prime eval list -e') :; return ;;
    'prime eval list --output'|'prime eval list -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime eval show --rollout') :; return ;;
    'prime eval show --example') :; return ;;
    'prime eval show --output'|'prime eval show -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime hub serve --host') :; return ;;
    'prime hub serve --port') :; return ;;
    'prime hub serve --data') :; return ;;
    'prime hub serve --database') :; return ;;
    'prime hub serve --storage') :; return ;;
    'prime hub serve --public-url') :; return ;;
    'prime hub serve --admin') :; return ;;
    'prime hub serve --tls-cert') :; return ;;
    'prime hub serve --tls-key') :; return ;;
    'prime hub serve --workers') :; return ;;
    'prime config show --output'|'prime config show -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime config show --context') :; return ;;
    'prime whoami --output'|'prime whoami -o') COMPREPLY=($(compgen -W "table plain json jsonl" -- "$current")); return ;;
    'prime whoami --context') :; return ;;
  esac
  case $at in
    'prime') words='env eval hub config whoami completion' options='--context --version -v -h --help' ;;
    'prime env') words='init build upload install uninstall pull info status list versions delete inspect' options='-h --help' ;;
    'prime env init') words='' options='--template --v1 --multi-file --path -p --force --rewrite-readme --output -o --quiet -q -h --help' ;;
    'prime env build') words='' options='--out-dir --no-check --offline --output -o --quiet -q -h --help' ;;
    'prime env upload') words='' options='--path -p --name -n --visibility -v --owner -o --team -t --runtime --auto-bump --rc --post --no-check --allow-secrets --dry-run --context --offline --output --quiet -q -h --help' ;;
    'prime env install') words='' options='--with --path -p --no-upgrade --prerelease --dry-run --python --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime env uninstall') words='' options='--with --python --output -o --quiet -q -h --help' ;;
    'prime env pull') words='' options='--target -t --version -v --output -o --quiet -q --context --offline -h --help' ;;
    'prime env info') words='' options='--version -v --output -o --quiet -q --context --offline -h --help' ;;
    'prime env status') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime env list') words='' options='--num -n --limit -l --page -p --owner --visibility --search -s --tag -t --tags --sort --order --mine --starred --installed --python --output -o --quiet -q --context --offline -h --help' ;;
    'prime env versions') words='' options='--full-hashes --output -o --quiet -q --context --offline -h --help' ;;
    'prime env delete') words='' options='--yes -y --force -f --output -o --quiet -q --context --offline -h --help' ;;
    'prime env inspect') words='' options='--version -v --max-bytes --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval') words='run list show' options='--model -m --num-examples -n --rollouts-per-example -r --max-concurrent --max-concurrent-requests -c --max-tokens -t --temperature -T --sampling-args -S --env-args -a --extra-env-kwargs -x --api-base-url -b --api-key-var -k --endpoints-path -e --provider -p --header --env-var --state-columns -C --independent-scoring -i --max-retries --max-error-rate --verifiers --python --hub --save-results --save-dataset -s --save-to-hf-hub -H --hf-hub-dataset-name -D --verbose -v --output --quiet -q --context --offline -h --help' ;;
    'prime eval run') words='' options='--model -m --num-examples -n --rollouts-per-example -r --max-concurrent --max-concurrent-requests -c --max-tokens -t --temperature -T --sampling-args -S --env-args -a --extra-env-kwargs -x --api-base-url -b --api-key-var -k --endpoints-path -e --provider -p --header --env-var --state-columns -C --independent-scoring -i --max-retries --max-error-rate --verifiers --python --hub --save-results --save-dataset -s --save-to-hf-hub -H --hf-hub-dataset-name -D --verbose -v --output --quiet -q --context --offline -h --help' ;;
    'prime eval list') words='' options='--num -n --page -p --env --env-name -e --output -o --quiet -q -h --help' ;;
    'prime eval show') words='' options='--rollout --example --errors --output -o --quiet -q -h --help' ;;
    'prime hub') words='serve' options='-h --help' ;;
    'prime hub serve') words='' options='--host --port --data --database --storage --public-url --admin --tls-cert --tls-key --workers --quiet -q -h --help' ;;
    'prime config') words='show' options='-h --help' ;;
    'prime config show') words='' options='--output -o --context --offline -h --help' ;;
    'prime whoami') words='' options='--output -o --context --offline -h --help' ;;
    'prime completion') words='bash zsh fish powershell' options='-h --help' ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o bashdefault -o default -F _prime prime
