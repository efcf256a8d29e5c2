# Completion of `prime` for bash. Made by `python -m prime_cli.commands.tree`; do not edit.
_prime_step() {
  case $1 in
    'prime env') at='prime env' ;;
    'prime eval') at='prime eval' ;;
    'prime availability') at='prime availability' ;;
    'prime pods') at='prime pods' ;;
    'prime pod') at='prime pods' ;;
    'prime disks') at='prime disks' ;;
    'prime disk') at='prime disks' ;;
    'prime ssh-keys') at='prime ssh-keys' ;;
    'prime ssh-key') at='prime ssh-keys' ;;
    'prime gc') at='prime gc' ;;
    'prime hub') at='prime hub' ;;
    'prime login') at='prime login' ;;
    'prime logout') at='prime logout' ;;
    'prime whoami') at='prime whoami' ;;
    'prime switch') at='prime switch' ;;
    'prime teams') at='prime teams' ;;
    'prime team') at='prime teams' ;;
    'prime context') at='prime context' ;;
    'prime config') at='prime config' ;;
    'prime cache') at='prime cache' ;;
    'prime doctor') at='prime doctor' ;;
    'prime completion') at='prime completion' ;;
    'prime env init') at='prime env init' ;;
    'prime env build') at='prime env build' ;;
    'prime env check') at='prime env check' ;;
    'prime env upload') at='prime env upload' ;;
    'prime env push') at='prime env upload' ;;
    'prime env install') at='prime env install' ;;
    'prime env trust') at='prime env trust' ;;
    'prime env bundle') at='prime env bundle' ;;
    'prime env signers') at='prime env signers' ;;
    'prime env uninstall') at='prime env uninstall' ;;
    'prime env lock') at='prime env lock' ;;
    'prime env sync') at='prime env sync' ;;
    'prime env outdated') at='prime env outdated' ;;
    'prime env diff') at='prime env diff' ;;
    'prime env pull') at='prime env pull' ;;
    'prime env info') at='prime env info' ;;
    'prime env status') at='prime env status' ;;
    'prime env list') at='prime env list' ;;
    'prime env verify') at='prime env verify' ;;
    'prime env versions') at='prime env versions' ;;
    'prime env delete') at='prime env delete' ;;
    'prime env inspect') at='prime env inspect' ;;
    'prime eval run') at='prime eval run' ;;
    'prime eval list') at='prime eval list' ;;
    'prime eval show') at='prime eval show' ;;
    'prime eval view') at='prime eval view' ;;
    'prime eval tui') at='prime eval view' ;;
    'prime eval rerun') at='prime eval rerun' ;;
    'prime eval rescore') at='prime eval rescore' ;;
    'prime eval compare') at='prime eval compare' ;;
    'prime eval power') at='prime eval power' ;;
    'prime eval leaderboard') at='prime eval leaderboard' ;;
    'prime eval gate') at='prime eval gate' ;;
    'prime eval prices') at='prime eval prices' ;;
    'prime eval export') at='prime eval export' ;;
    'prime eval push') at='prime eval push' ;;
    'prime eval get') at='prime eval get' ;;
    'prime eval samples') at='prime eval samples' ;;
    'prime eval logs') at='prime eval logs' ;;
    'prime eval delete') at='prime eval delete' ;;
    'prime availability list') at='prime availability list' ;;
    'prime availability ls') at='prime availability list' ;;
    'prime availability gpu-types') at='prime availability gpu-types' ;;
    'prime availability disks') at='prime availability disks' ;;
    'prime pods create') at='prime pods create' ;;
    'prime pods list') at='prime pods list' ;;
    'prime pods ls') at='prime pods list' ;;
    'prime pods status') at='prime pods status' ;;
    'prime pods ssh') at='prime pods ssh' ;;
    'prime pods connect') at='prime pods ssh' ;;
    'prime pods exec') at='prime pods exec' ;;
    'prime pods cp') at='prime pods cp' ;;
    'prime pods logs') at='prime pods logs' ;;
    'prime pods history') at='prime pods history' ;;
    'prime pods terminate') at='prime pods terminate' ;;
    'prime disks list') at='prime disks list' ;;
    'prime disks ls') at='prime disks list' ;;
    'prime disks get') at='prime disks get' ;;
    'prime disks create') at='prime disks create' ;;
    'prime disks update') at='prime disks update' ;;
    'prime disks terminate') at='prime disks terminate' ;;
    'prime ssh-keys list') at='prime ssh-keys list' ;;
    'prime ssh-keys ls') at='prime ssh-keys list' ;;
    'prime ssh-keys add') at='prime ssh-keys add' ;;
    'prime ssh-keys remove') at='prime ssh-keys remove' ;;
    'prime ssh-keys rm') at='prime ssh-keys remove' ;;
    'prime ssh-keys set-primary') at='prime ssh-keys set-primary' ;;
    'prime hub serve') at='prime hub serve' ;;
    'prime hub user') at='prime hub user' ;;
    'prime hub team') at='prime hub team' ;;
    'prime hub token') at='prime hub token' ;;
    'prime hub approve') at='prime hub approve' ;;
    'prime hub audit') at='prime hub audit' ;;
    'prime hub migrate') at='prime hub migrate' ;;
    'prime hub gc') at='prime hub gc' ;;
    'prime hub backup') at='prime hub backup' ;;
    'prime hub restore') at='prime hub restore' ;;
    'prime hub user add') at='prime hub user add' ;;
    'prime hub user list') at='prime hub user list' ;;
    'prime hub user remove') at='prime hub user remove' ;;
    'prime hub team add') at='prime hub team add' ;;
    'prime hub team list') at='prime hub team list' ;;
    'prime hub team remove') at='prime hub team remove' ;;
    'prime hub token add') at='prime hub token add' ;;
    'prime hub token list') at='prime hub token list' ;;
    'prime hub token remove') at='prime hub token remove' ;;
    'prime teams list') at='prime teams list' ;;
    'prime teams members') at='prime teams members' ;;
    'prime context list') at='prime context list' ;;
    'prime context use') at='prime context use' ;;
    'prime context show') at='prime context show' ;;
    'prime context add') at='prime context add' ;;
    'prime context rename') at='prime context rename' ;;
    'prime context delete') at='prime context delete' ;;
    'prime config show') at='prime config show' ;;
    'prime config view') at='prime config show' ;;
    'prime config get') at='prime config get' ;;
    'prime config set') at='prime config set' ;;
    'prime config unset') at='prime config unset' ;;
    'prime config use') at='prime config use' ;;
    'prime config path') at='prime config path' ;;
    'prime config import') at='prime config import' ;;
    'prime cache list') at='prime cache list' ;;
    'prime cache ls') at='prime cache list' ;;
    'prime cache prune') at='prime cache prune' ;;
    'prime cache verify') at='prime cache verify' ;;
    'prime completion install') at='prime completion install' ;;
    'prime completion uninstall') at='prime completion uninstall' ;;
    'prime completion bash') at='prime completion bash' ;;
    'prime completion zsh') at='prime completion zsh' ;;
    'prime completion fish') at='prime completion fish' ;;
    'prime completion powershell') at='prime completion powershell' ;;
    'prime completion pwsh') at='prime completion powershell' ;;
    *) return 1 ;;
  esac
}
_prime_default() {
  case $1 in
    'prime eval') at='prime eval run' ;;
    *) return 1 ;;
  esac
}
_prime_offers() {
  case $1 in
    'prime --context') offers='local prime @contexts' ;;
    'prime env init --template') offers='single-turn multi-turn tool' ;;
    'prime env init --path'|'prime env init -p') offers='@files' ;;
    'prime env init --output'|'prime env init -o') offers='table plain json jsonl' ;;
    'prime env build --out-dir') offers='@folders' ;;
    'prime env build --output'|'prime env build -o') offers='table plain json jsonl' ;;
    'prime env check --num-examples'|'prime env check -n') offers='' ;;
    'prime env check --timeout') offers='' ;;
    'prime env check --env-args'|'prime env check -a') offers='' ;;
    'prime env check --env-var') offers='' ;;
    'prime env check --verifiers') offers='' ;;
    'prime env check --python') offers='@files' ;;
    'prime env check --output'|'prime env check -o') offers='table plain json jsonl' ;;
    'prime env check --context') offers='local prime @contexts' ;;
    'prime env upload --path'|'prime env upload -p') offers='@folders' ;;
    'prime env upload --name'|'prime env upload -n') offers='' ;;
    'prime env upload --visibility'|'prime env upload -v') offers='PUBLIC PRIVATE' ;;
    'prime env upload --owner'|'prime env upload -o') offers='' ;;
    'prime env upload --team'|'prime env upload -t') offers='' ;;
    'prime env upload --runtime') offers='v0 v1' ;;
    'prime env upload --sign') offers='' ;;
    'prime env upload --attestation') offers='@files' ;;
    'prime env upload --allow-secrets') offers='' ;;
    'prime env upload --context') offers='local prime @contexts' ;;
    'prime env upload --output') offers='table plain json jsonl' ;;
    'prime env install --with') offers='uv pip' ;;
    'prime env install --path'|'prime env install -p') offers='@files' ;;
    'prime env install --sha256') offers='' ;;
    'prime env install --python') offers='@files' ;;
    'prime env install --output'|'prime env install -o') offers='table plain json jsonl' ;;
    'prime env install --context') offers='local prime @contexts' ;;
    'prime env trust --output'|'prime env trust -o') offers='table plain json jsonl' ;;
    'prime env trust --context') offers='local prime @contexts' ;;
    'prime env bundle --file'|'prime env bundle -o') offers='@files' ;;
    'prime env bundle --platform') offers='' ;;
    'prime env bundle --python') offers='' ;;
    'prime env bundle --data') offers='@files' ;;
    'prime env bundle --list') offers='@files' ;;
    'prime env bundle --output') offers='table plain json jsonl' ;;
    'prime env bundle --context') offers='local prime @contexts' ;;
    'prime env signers --key') offers='@files' ;;
    'prime env signers --identity') offers='' ;;
    'prime env signers --issuer') offers='' ;;
    'prime env signers --output'|'prime env signers -o') offers='table plain json jsonl' ;;
    'prime env uninstall --with') offers='uv pip' ;;
    'prime env uninstall --python') offers='@files' ;;
    'prime env uninstall --output'|'prime env uninstall -o') offers='table plain json jsonl' ;;
    'prime env lock --remove') offers='' ;;
    'prime env lock --python') offers='@files' ;;
    'prime env lock --output'|'prime env lock -o') offers='table plain json jsonl' ;;
    'prime env lock --context') offers='local prime @contexts' ;;
    'prime env sync --python') offers='@files' ;;
    'prime env sync --output'|'prime env sync -o') offers='table plain json jsonl' ;;
    'prime env sync --context') offers='local prime @contexts' ;;
    'prime env outdated --python') offers='@files' ;;
    'prime env outdated --output'|'prime env outdated -o') offers='table plain json jsonl' ;;
    'prime env outdated --context') offers='local prime @contexts' ;;
    'prime env diff --python') offers='@files' ;;
    'prime env diff --output'|'prime env diff -o') offers='table plain json jsonl' ;;
    'prime env diff --context') offers='local prime @contexts' ;;
    'prime env pull --target'|'prime env pull -t') offers='@folders' ;;
    'prime env pull --version'|'prime env pull -v') offers='' ;;
    'prime env pull --output'|'prime env pull -o') offers='table plain json jsonl' ;;
    'prime env pull --context') offers='local prime @contexts' ;;
    'prime env info --version'|'prime env info -v') offers='' ;;
    'prime env info --output'|'prime env info -o') offers='table plain json jsonl' ;;
    'prime env info --context') offers='local prime @contexts' ;;
    'prime env status --output'|'prime env status -o') offers='table plain json jsonl' ;;
    'prime env status --context') offers='local prime @contexts' ;;
    'prime env list --num'|'prime env list -n'|'prime env list --limit'|'prime env list -l') offers='' ;;
    'prime env list --page'|'prime env list -p') offers='' ;;
    'prime env list --owner') offers='' ;;
    'prime env list --visibility') offers='public private' ;;
    'prime env list --search'|'prime env list -s') offers='' ;;
    'prime env list --tag'|'prime env list -t'|'prime env list --tags') offers='' ;;
    'prime env list --sort') offers='name created_at updated_at stars' ;;
    'prime env list --order') offers='asc desc' ;;
    'prime env list --python') offers='@files' ;;
    'prime env list --output'|'prime env list -o') offers='table plain json jsonl' ;;
    'prime env list --context') offers='local prime @contexts' ;;
    'prime env verify --version'|'prime env verify -v') offers='' ;;
    'prime env verify --output'|'prime env verify -o') offers='table plain json jsonl' ;;
    'prime env verify --context') offers='local prime @contexts' ;;
    'prime env versions --output'|'prime env versions -o') offers='table plain json jsonl' ;;
    'prime env versions --context') offers='local prime @contexts' ;;
    'prime env delete --output'|'prime env delete -o') offers='table plain json jsonl' ;;
    'prime env delete --context') offers='local prime @contexts' ;;
    'prime env inspect --version'|'prime env inspect -v') offers='' ;;
    'prime env inspect --max-bytes') offers='' ;;
    'prime env inspect --output'|'prime env inspect -o') offers='table plain json jsonl' ;;
    'prime env inspect --context') offers='local prime @contexts' ;;
    'prime eval --model'|'prime eval -m') offers='builtin/echo builtin/oracle @models' ;;
    'prime eval --num-examples'|'prime eval -n') offers='' ;;
    'prime eval --rollouts-per-example'|'prime eval -r') offers='' ;;
    'prime eval --max-concurrent'|'prime eval --max-concurrent-requests'|'prime eval -c') offers='' ;;
    'prime eval --max-tokens'|'prime eval -t') offers='' ;;
    'prime eval --temperature'|'prime eval -T') offers='' ;;
    'prime eval --sampling-args'|'prime eval -S') offers='' ;;
    'prime eval --env-args'|'prime eval -a') offers='' ;;
    'prime eval --extra-env-kwargs'|'prime eval -x') offers='' ;;
    'prime eval --api-base-url'|'prime eval -b') offers='' ;;
    'prime eval --api-key-var'|'prime eval -k') offers='' ;;
    'prime eval --endpoints-path'|'prime eval -e') offers='@files' ;;
    'prime eval --provider'|'prime eval -p') offers='' ;;
    'prime eval --header') offers='' ;;
    'prime eval --env-var') offers='' ;;
    'prime eval --state-columns'|'prime eval -C') offers='' ;;
    'prime eval --max-retries') offers='' ;;
    'prime eval --max-error-rate') offers='' ;;
    'prime eval --max-cost') offers='' ;;
    'prime eval --token-budget') offers='' ;;
    'prime eval --call-timeout') offers='' ;;
    'prime eval --score-timeout') offers='' ;;
    'prime eval --rollout-timeout'|'prime eval --timeout') offers='' ;;
    'prime eval --resume'|'prime eval -R') offers='@runs @folders' ;;
    'prime eval --fail-under') offers='' ;;
    'prime eval --baseline') offers='@runs @folders @evaluations' ;;
    'prime eval --max-drop') offers='' ;;
    'prime eval --junit') offers='@files' ;;
    'prime eval --verifiers') offers='' ;;
    'prime eval --python') offers='@files' ;;
    'prime eval --hf-hub-dataset-name'|'prime eval -D') offers='' ;;
    'prime eval --output') offers='table plain json jsonl' ;;
    'prime eval --context') offers='local prime @contexts' ;;
    'prime eval run --model'|'prime eval run -m') offers='builtin/echo builtin/oracle @models' ;;
    'prime eval run --num-examples'|'prime eval run -n') offers='' ;;
    'prime eval run --rollouts-per-example'|'prime eval run -r') offers='' ;;
    'prime eval run --max-concurrent'|'prime eval run --max-concurrent-requests'|'prime eval run -c') offers='' ;;
    'prime eval run --max-tokens'|'prime eval run -t') offers='' ;;
    'prime eval run --temperature'|'prime eval run -T') offers='' ;;
    'prime eval run --sampling-args'|'prime eval run -S') offers='' ;;
    'prime eval run --env-args'|'prime eval run -a') offers='' ;;
    'prime eval run --extra-env-kwargs'|'prime eval run -x') offers='' ;;
    'prime eval run --api-base-url'|'prime eval run -b') offers='' ;;
    'prime eval run --api-key-var'|'prime eval run -k') offers='' ;;
    'prime eval run --endpoints-path'|'prime eval run -e') offers='@files' ;;
    'prime eval run --provider'|'prime eval run -p') offers='' ;;
    'prime eval run --header') offers='' ;;
    'prime eval run --env-var') offers='' ;;
    'prime eval run --state-columns'|'prime eval run -C') offers='' ;;
    'prime eval run --max-retries') offers='' ;;
    'prime eval run --max-error-rate') offers='' ;;
    'prime eval run --max-cost') offers='' ;;
    'prime eval run --token-budget') offers='' ;;
    'prime eval run --call-timeout') offers='' ;;
    'prime eval run --score-timeout') offers='' ;;
    'prime eval run --rollout-timeout'|'prime eval run --timeout') offers='' ;;
    'prime eval run --resume'|'prime eval run -R') offers='@runs @folders' ;;
    'prime eval run --fail-under') offers='' ;;
    'prime eval run --baseline') offers='@runs @folders @evaluations' ;;
    'prime eval run --max-drop') offers='' ;;
    'prime eval run --junit') offers='@files' ;;
    'prime eval run --verifiers') offers='' ;;
    'prime eval run --python') offers='@files' ;;
    'prime eval run --hf-hub-dataset-name'|'prime eval run -D') offers='' ;;
    'prime eval run --output') offers='table plain json jsonl' ;;
    'prime eval run --context') offers='local prime @contexts' ;;
    'prime eval list --num'|'prime eval list -n') offers='' ;;
    'prime eval list --page'|'prime eval list -p') offers='' ;;
    'prime eval list --env'|'prime eval list --env-name'|'prime eval list -e') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime eval list --output'|'prime eval list -o') offers='table plain json jsonl' ;;
    'prime eval list --context') offers='local prime @contexts' ;;
    'prime eval show --rollout') offers='' ;;
    'prime eval show --example') offers='' ;;
    'prime eval show --output'|'prime eval show -o') offers='table plain json jsonl' ;;
    'prime eval view --env-dir'|'prime eval view -e') offers='@folders' ;;
    'prime eval view --outputs-dir'|'prime eval view -o') offers='@folders' ;;
    'prime eval rerun --model'|'prime eval rerun -m') offers='builtin/echo builtin/oracle @models' ;;
    'prime eval rerun --max-concurrent'|'prime eval rerun -c') offers='' ;;
    'prime eval rerun --api-base-url'|'prime eval rerun -b') offers='' ;;
    'prime eval rerun --api-key-var'|'prime eval rerun -k') offers='' ;;
    'prime eval rerun --endpoints-path'|'prime eval rerun -e') offers='@files' ;;
    'prime eval rerun --provider'|'prime eval rerun -p') offers='' ;;
    'prime eval rerun --header') offers='' ;;
    'prime eval rerun --env-var') offers='' ;;
    'prime eval rerun --max-cost') offers='' ;;
    'prime eval rerun --token-budget') offers='' ;;
    'prime eval rerun --output'|'prime eval rerun -o') offers='table plain json jsonl' ;;
    'prime eval rerun --context') offers='local prime @contexts' ;;
    'prime eval rescore --environment') offers='@files starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime eval rescore --example') offers='' ;;
    'prime eval rescore --env-args'|'prime eval rescore -a') offers='' ;;
    'prime eval rescore --max-concurrent'|'prime eval rescore -c') offers='' ;;
    'prime eval rescore --env-var') offers='' ;;
    'prime eval rescore --endpoints-path'|'prime eval rescore -e') offers='@files' ;;
    'prime eval rescore --max-cost') offers='' ;;
    'prime eval rescore --output'|'prime eval rescore -o') offers='table plain json jsonl' ;;
    'prime eval rescore --context') offers='local prime @contexts' ;;
    'prime eval compare --alpha') offers='' ;;
    'prime eval compare --seed') offers='' ;;
    'prime eval compare --output'|'prime eval compare -o') offers='table plain json jsonl' ;;
    'prime eval power --difference'|'prime eval power -d') offers='' ;;
    'prime eval power --examples'|'prime eval power -n') offers='' ;;
    'prime eval power --rollouts'|'prime eval power -r') offers='' ;;
    'prime eval power --rate') offers='' ;;
    'prime eval power --sd') offers='' ;;
    'prime eval power --discordance') offers='' ;;
    'prime eval power --correlation') offers='' ;;
    'prime eval power --icc') offers='' ;;
    'prime eval power --alpha') offers='' ;;
    'prime eval power --power') offers='' ;;
    'prime eval power --output'|'prime eval power -o') offers='table plain json jsonl' ;;
    'prime eval leaderboard --csv') offers='@files' ;;
    'prime eval leaderboard --output'|'prime eval leaderboard -o') offers='table plain json jsonl' ;;
    'prime eval gate --fail-under') offers='' ;;
    'prime eval gate --baseline') offers='@runs @folders @evaluations' ;;
    'prime eval gate --max-drop') offers='' ;;
    'prime eval gate --max-error-rate') offers='' ;;
    'prime eval gate --junit') offers='@files' ;;
    'prime eval gate --output'|'prime eval gate -o') offers='table plain json jsonl' ;;
    'prime eval gate --context') offers='local prime @contexts' ;;
    'prime eval prices --output'|'prime eval prices -o') offers='table plain json jsonl' ;;
    'prime eval export --to') offers='html csv hf' ;;
    'prime eval export --out'|'prime eval export -O') offers='@files' ;;
    'prime eval export --max-transcripts') offers='' ;;
    'prime eval export --hf-hub-dataset-name'|'prime eval export -D') offers='' ;;
    'prime eval export --output'|'prime eval export -o') offers='table plain json jsonl' ;;
    'prime eval push --env'|'prime eval push --env-id'|'prime eval push -e') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime eval push --name') offers='' ;;
    'prime eval push --run-id'|'prime eval push -r') offers='' ;;
    'prime eval push --eval'|'prime eval push --eval-id') offers='@evaluations' ;;
    'prime eval push --output'|'prime eval push -o') offers='table plain json jsonl' ;;
    'prime eval push --context') offers='local prime @contexts' ;;
    'prime eval get --output'|'prime eval get -o') offers='table plain json jsonl' ;;
    'prime eval get --context') offers='local prime @contexts' ;;
    'prime eval samples --num'|'prime eval samples -n') offers='' ;;
    'prime eval samples --page'|'prime eval samples -p') offers='' ;;
    'prime eval samples --above') offers='' ;;
    'prime eval samples --below') offers='' ;;
    'prime eval samples --search'|'prime eval samples -s') offers='' ;;
    'prime eval samples --output'|'prime eval samples -o') offers='table plain json jsonl' ;;
    'prime eval samples --context') offers='local prime @contexts' ;;
    'prime eval logs --tail'|'prime eval logs -n') offers='' ;;
    'prime eval logs --output'|'prime eval logs -o') offers='table plain json jsonl' ;;
    'prime eval logs --context') offers='local prime @contexts' ;;
    'prime eval delete --output'|'prime eval delete -o') offers='table plain json jsonl' ;;
    'prime eval delete --context') offers='local prime @contexts' ;;
    'prime availability list --gpu-type') offers='' ;;
    'prime availability list --gpu-count') offers='' ;;
    'prime availability list --regions'|'prime availability list --region') offers='' ;;
    'prime availability list --socket') offers='' ;;
    'prime availability list --provider') offers='' ;;
    'prime availability list --max-price') offers='' ;;
    'prime availability list --disks') offers='@disks' ;;
    'prime availability list --output'|'prime availability list -o') offers='table plain json jsonl' ;;
    'prime availability list --context') offers='local prime @contexts' ;;
    'prime availability gpu-types --output'|'prime availability gpu-types -o') offers='table plain json jsonl' ;;
    'prime availability gpu-types --context') offers='local prime @contexts' ;;
    'prime availability disks --regions'|'prime availability disks --region') offers='' ;;
    'prime availability disks --data-center-id') offers='' ;;
    'prime availability disks --output'|'prime availability disks -o') offers='table plain json jsonl' ;;
    'prime availability disks --context') offers='local prime @contexts' ;;
    'prime pods create --id') offers='' ;;
    'prime pods create --cloud-id') offers='' ;;
    'prime pods create --gpu-type') offers='' ;;
    'prime pods create --gpu-count') offers='' ;;
    'prime pods create --regions'|'prime pods create --region') offers='' ;;
    'prime pods create --socket') offers='' ;;
    'prime pods create --provider') offers='' ;;
    'prime pods create --max-price') offers='' ;;
    'prime pods create --name') offers='' ;;
    'prime pods create --disk-size') offers='' ;;
    'prime pods create --vcpus') offers='' ;;
    'prime pods create --memory') offers='' ;;
    'prime pods create --image') offers='' ;;
    'prime pods create --custom-template-id') offers='' ;;
    'prime pods create --disks') offers='@disks' ;;
    'prime pods create --env') offers='' ;;
    'prime pods create --for') offers='' ;;
    'prime pods create --nodes') offers='' ;;
    'prime pods create --ssh-key') offers='' ;;
    'prime pods create --team-id'|'prime pods create --team') offers='' ;;
    'prime pods create --member') offers='' ;;
    'prime pods create --timeout') offers='' ;;
    'prime pods create --output'|'prime pods create -o') offers='table plain json jsonl' ;;
    'prime pods create --context') offers='local prime @contexts' ;;
    'prime pods list --limit') offers='' ;;
    'prime pods list --offset') offers='' ;;
    'prime pods list --output'|'prime pods list -o') offers='table plain json jsonl' ;;
    'prime pods list --context') offers='local prime @contexts' ;;
    'prime pods status --output'|'prime pods status -o') offers='table plain json jsonl' ;;
    'prime pods status --context') offers='local prime @contexts' ;;
    'prime pods ssh --identity'|'prime pods ssh -i') offers='@files' ;;
    'prime pods ssh --node') offers='' ;;
    'prime pods ssh --timeout') offers='' ;;
    'prime pods ssh --output'|'prime pods ssh -o') offers='table plain json jsonl' ;;
    'prime pods ssh --context') offers='local prime @contexts' ;;
    'prime pods exec --identity'|'prime pods exec -i') offers='@files' ;;
    'prime pods exec --node') offers='' ;;
    'prime pods exec --timeout') offers='' ;;
    'prime pods exec --context') offers='local prime @contexts' ;;
    'prime pods cp --identity'|'prime pods cp -i') offers='@files' ;;
    'prime pods cp --node') offers='' ;;
    'prime pods cp --timeout') offers='' ;;
    'prime pods cp --context') offers='local prime @contexts' ;;
    'prime pods logs --tail'|'prime pods logs -n') offers='' ;;
    'prime pods logs --output'|'prime pods logs -o') offers='table plain json jsonl' ;;
    'prime pods logs --context') offers='local prime @contexts' ;;
    'prime pods history --limit') offers='' ;;
    'prime pods history --offset') offers='' ;;
    'prime pods history --output'|'prime pods history -o') offers='table plain json jsonl' ;;
    'prime pods history --context') offers='local prime @contexts' ;;
    'prime pods terminate --output'|'prime pods terminate -o') offers='table plain json jsonl' ;;
    'prime pods terminate --context') offers='local prime @contexts' ;;
    'prime disks list --limit') offers='' ;;
    'prime disks list --offset') offers='' ;;
    'prime disks list --output'|'prime disks list -o') offers='table plain json jsonl' ;;
    'prime disks list --context') offers='local prime @contexts' ;;
    'prime disks get --output'|'prime disks get -o') offers='table plain json jsonl' ;;
    'prime disks get --context') offers='local prime @contexts' ;;
    'prime disks create --size') offers='' ;;
    'prime disks create --id') offers='' ;;
    'prime disks create --name') offers='' ;;
    'prime disks create --country') offers='' ;;
    'prime disks create --cloud-id') offers='' ;;
    'prime disks create --data-center-id') offers='' ;;
    'prime disks create --team-id'|'prime disks create --team') offers='' ;;
    'prime disks create --provider-type'|'prime disks create --provider') offers='' ;;
    'prime disks create --output'|'prime disks create -o') offers='table plain json jsonl' ;;
    'prime disks create --context') offers='local prime @contexts' ;;
    'prime disks update --name') offers='' ;;
    'prime disks update --output'|'prime disks update -o') offers='table plain json jsonl' ;;
    'prime disks update --context') offers='local prime @contexts' ;;
    'prime disks terminate --output'|'prime disks terminate -o') offers='table plain json jsonl' ;;
    'prime disks terminate --context') offers='local prime @contexts' ;;
    'prime ssh-keys list --output'|'prime ssh-keys list -o') offers='table plain json jsonl' ;;
    'prime ssh-keys list --context') offers='local prime @contexts' ;;
    'prime ssh-keys add --name') offers='' ;;
    'prime ssh-keys add --output'|'prime ssh-keys add -o') offers='table plain json jsonl' ;;
    'prime ssh-keys add --context') offers='local prime @contexts' ;;
    'prime ssh-keys remove --output'|'prime ssh-keys remove -o') offers='table plain json jsonl' ;;
    'prime ssh-keys remove --context') offers='local prime @contexts' ;;
    'prime ssh-keys set-primary --output'|'prime ssh-keys set-primary -o') offers='table plain json jsonl' ;;
    'prime ssh-keys set-primary --context') offers='local prime @contexts' ;;
    'prime gc --output'|'prime gc -o') offers='table plain json jsonl' ;;
    'prime gc --context') offers='local prime @contexts' ;;
    'prime hub serve --host') offers='' ;;
    'prime hub serve --port') offers='' ;;
    'prime hub serve --data') offers='@folders' ;;
    'prime hub serve --database') offers='' ;;
    'prime hub serve --storage') offers='' ;;
    'prime hub serve --public-url') offers='' ;;
    'prime hub serve --admin') offers='' ;;
    'prime hub serve --tls-cert') offers='@files' ;;
    'prime hub serve --tls-key') offers='@files' ;;
    'prime hub serve --workers') offers='' ;;
    'prime hub serve --trusted-proxies') offers='' ;;
    'prime hub serve --rate-limit') offers='' ;;
    'prime hub serve --uploads') offers='' ;;
    'prime hub serve --upstream') offers='' ;;
    'prime hub serve --downloads') offers='proxy redirect' ;;
    'prime hub serve --pods-folder') offers='@folders' ;;
    'prime hub serve --pods-host') offers='' ;;
    'prime hub serve --sky') offers='' ;;
    'prime hub serve --sky-infra') offers='' ;;
    'prime hub serve --log-format') offers='json text none' ;;
    'prime hub user add --name') offers='' ;;
    'prime hub user add --email') offers='' ;;
    'prime hub user add --data') offers='@folders' ;;
    'prime hub user add --database') offers='' ;;
    'prime hub user add --output'|'prime hub user add -o') offers='table plain json jsonl' ;;
    'prime hub user list --data') offers='@folders' ;;
    'prime hub user list --database') offers='' ;;
    'prime hub user list --output'|'prime hub user list -o') offers='table plain json jsonl' ;;
    'prime hub user remove --data') offers='@folders' ;;
    'prime hub user remove --database') offers='' ;;
    'prime hub user remove --output'|'prime hub user remove -o') offers='table plain json jsonl' ;;
    'prime hub team add --member') offers='' ;;
    'prime hub team add --name') offers='' ;;
    'prime hub team add --data') offers='@folders' ;;
    'prime hub team add --database') offers='' ;;
    'prime hub team add --output'|'prime hub team add -o') offers='table plain json jsonl' ;;
    'prime hub team list --data') offers='@folders' ;;
    'prime hub team list --database') offers='' ;;
    'prime hub team list --output'|'prime hub team list -o') offers='table plain json jsonl' ;;
    'prime hub team remove --member') offers='' ;;
    'prime hub team remove --data') offers='@folders' ;;
    'prime hub team remove --database') offers='' ;;
    'prime hub team remove --output'|'prime hub team remove -o') offers='table plain json jsonl' ;;
    'prime hub token add --name') offers='' ;;
    'prime hub token add --scope') offers='read write admin' ;;
    'prime hub token add --owner') offers='' ;;
    'prime hub token add --expires') offers='' ;;
    'prime hub token add --data') offers='@folders' ;;
    'prime hub token add --database') offers='' ;;
    'prime hub token add --output'|'prime hub token add -o') offers='table plain json jsonl' ;;
    'prime hub token list --user') offers='' ;;
    'prime hub token list --data') offers='@folders' ;;
    'prime hub token list --database') offers='' ;;
    'prime hub token list --output'|'prime hub token list -o') offers='table plain json jsonl' ;;
    'prime hub token remove --user') offers='' ;;
    'prime hub token remove --data') offers='@folders' ;;
    'prime hub token remove --database') offers='' ;;
    'prime hub token remove --output'|'prime hub token remove -o') offers='table plain json jsonl' ;;
    'prime hub approve --user') offers='' ;;
    'prime hub approve --data') offers='@folders' ;;
    'prime hub approve --database') offers='' ;;
    'prime hub approve --output'|'prime hub approve -o') offers='table plain json jsonl' ;;
    'prime hub audit --user') offers='' ;;
    'prime hub audit --action') offers='' ;;
    'prime hub audit --on') offers='' ;;
    'prime hub audit --limit'|'prime hub audit -n') offers='' ;;
    'prime hub audit --data') offers='@folders' ;;
    'prime hub audit --database') offers='' ;;
    'prime hub audit --output'|'prime hub audit -o') offers='table plain json jsonl' ;;
    'prime hub migrate --data') offers='@folders' ;;
    'prime hub migrate --database') offers='' ;;
    'prime hub migrate --output'|'prime hub migrate -o') offers='table plain json jsonl' ;;
    'prime hub gc --data') offers='@folders' ;;
    'prime hub gc --database') offers='' ;;
    'prime hub gc --storage') offers='' ;;
    'prime hub gc --output'|'prime hub gc -o') offers='table plain json jsonl' ;;
    'prime hub backup --data') offers='@folders' ;;
    'prime hub backup --database') offers='' ;;
    'prime hub backup --storage') offers='' ;;
    'prime hub backup --output'|'prime hub backup -o') offers='table plain json jsonl' ;;
    'prime hub restore --data') offers='@folders' ;;
    'prime hub restore --database') offers='' ;;
    'prime hub restore --storage') offers='' ;;
    'prime hub restore --output'|'prime hub restore -o') offers='table plain json jsonl' ;;
    'prime login --hub') offers='' ;;
    'prime login --name') offers='' ;;
    'prime login --storage') offers='auto keyring file' ;;
    'prime login --output'|'prime login -o') offers='table plain json jsonl' ;;
    'prime login --context') offers='local prime @contexts' ;;
    'prime logout --output'|'prime logout -o') offers='table plain json jsonl' ;;
    'prime logout --context') offers='local prime @contexts' ;;
    'prime whoami --output'|'prime whoami -o') offers='table plain json jsonl' ;;
    'prime whoami --context') offers='local prime @contexts' ;;
    'prime switch --output'|'prime switch -o') offers='table plain json jsonl' ;;
    'prime switch --context') offers='local prime @contexts' ;;
    'prime teams list --output'|'prime teams list -o') offers='table plain json jsonl' ;;
    'prime teams list --context') offers='local prime @contexts' ;;
    'prime teams members --output'|'prime teams members -o') offers='table plain json jsonl' ;;
    'prime teams members --context') offers='local prime @contexts' ;;
    'prime context list --output'|'prime context list -o') offers='table plain json jsonl' ;;
    'prime context use --output'|'prime context use -o') offers='table plain json jsonl' ;;
    'prime context show --output'|'prime context show -o') offers='table plain json jsonl' ;;
    'prime context add --web-url') offers='' ;;
    'prime context add --team') offers='' ;;
    'prime context add --output'|'prime context add -o') offers='table plain json jsonl' ;;
    'prime context rename --output'|'prime context rename -o') offers='table plain json jsonl' ;;
    'prime context delete --output'|'prime context delete -o') offers='table plain json jsonl' ;;
    'prime config show --output'|'prime config show -o') offers='table plain json jsonl' ;;
    'prime config show --context') offers='local prime @contexts' ;;
    'prime config get --output'|'prime config get -o') offers='table plain json jsonl' ;;
    'prime config get --context') offers='local prime @contexts' ;;
    'prime config set --output'|'prime config set -o') offers='table plain json jsonl' ;;
    'prime config set --context') offers='local prime @contexts' ;;
    'prime config unset --output'|'prime config unset -o') offers='table plain json jsonl' ;;
    'prime config unset --context') offers='local prime @contexts' ;;
    'prime config use --output'|'prime config use -o') offers='table plain json jsonl' ;;
    'prime config path --output'|'prime config path -o') offers='table plain json jsonl' ;;
    'prime config import --storage') offers='auto keyring file' ;;
    'prime config import --output'|'prime config import -o') offers='table plain json jsonl' ;;
    'prime cache list --kind') offers='interpreters wheels locks bundles records responses sandbox builds' ;;
    'prime cache list --output'|'prime cache list -o') offers='table plain json jsonl' ;;
    'prime cache prune --older-than') offers='' ;;
    'prime cache prune --kind') offers='interpreters wheels locks bundles records responses sandbox builds' ;;
    'prime cache prune --output'|'prime cache prune -o') offers='table plain json jsonl' ;;
    'prime cache verify --kind') offers='interpreters wheels locks bundles records responses sandbox builds' ;;
    'prime cache verify --output'|'prime cache verify -o') offers='table plain json jsonl' ;;
    'prime doctor --output'|'prime doctor -o') offers='table plain json jsonl' ;;
    'prime doctor --context') offers='local prime @contexts' ;;
    'prime completion install --output'|'prime completion install -o') offers='table plain json jsonl' ;;
    'prime completion uninstall --output'|'prime completion uninstall -o') offers='table plain json jsonl' ;;
    'prime env init 0') offers='' ;;
    'prime env build 0') offers='@folders @projects' ;;
    'prime env check 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env upload 0') offers='@folders @projects @wheels' ;;
    'prime env install ...') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env trust ...') offers='' ;;
    'prime env bundle ...') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env signers 0') offers='' ;;
    'prime env uninstall ...') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env lock ...') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env outdated ...') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env diff 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env diff 1') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime env pull 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env info 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env status 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env verify 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env versions 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env delete 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env inspect 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments' ;;
    'prime env inspect 1') offers='@files' ;;
    'prime eval 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime eval run 0') offers='starter/alphabet-sort starter/calculator starter/reverse-text starter/word-ladder @environments @projects @files' ;;
    'prime eval show 0') offers='@runs @folders' ;;
    'prime eval view ...') offers='@runs @folders' ;;
    'prime eval rerun 0') offers='@runs @folders @evaluations' ;;
    'prime eval rescore 0') offers='@runs @folders @evaluations' ;;
    'prime eval compare ...') offers='@runs @folders' ;;
    'prime eval power ...') offers='@runs @folders' ;;
    'prime eval leaderboard 0') offers='' ;;
    'prime eval gate 0') offers='@runs @folders' ;;
    'prime eval prices 0') offers='builtin/echo builtin/oracle @models' ;;
    'prime eval export 0') offers='@runs @folders' ;;
    'prime eval push ...') offers='@runs @folders' ;;
    'prime eval get 0') offers='@evaluations' ;;
    'prime eval samples 0') offers='@evaluations' ;;
    'prime eval logs 0') offers='@runs @folders @evaluations' ;;
    'prime eval delete 0') offers='@evaluations' ;;
    'prime pods status 0') offers='@pods' ;;
    'prime pods ssh 0') offers='@pods' ;;
    'prime pods ssh ...') offers='' ;;
    'prime pods exec 0') offers='@pods' ;;
    'prime pods exec ...') offers='' ;;
    'prime pods cp ...') offers='@pods @files' ;;
    'prime pods logs 0') offers='@pods' ;;
    'prime pods terminate ...') offers='@pods' ;;
    'prime disks get 0') offers='@disks' ;;
    'prime disks update 0') offers='@disks' ;;
    'prime disks terminate 0') offers='@disks' ;;
    'prime ssh-keys add 0') offers='@files' ;;
    'prime ssh-keys remove 0') offers='@ssh-keys' ;;
    'prime ssh-keys set-primary 0') offers='@ssh-keys' ;;
    'prime hub user add 0') offers='' ;;
    'prime hub user remove 0') offers='' ;;
    'prime hub team add 0') offers='' ;;
    'prime hub team remove 0') offers='' ;;
    'prime hub token add 0') offers='' ;;
    'prime hub token remove 0') offers='' ;;
    'prime hub approve 0') offers='' ;;
    'prime hub backup 0') offers='@files' ;;
    'prime hub restore 0') offers='@files' ;;
    'prime logout 0') offers='local prime @contexts' ;;
    'prime switch 0') offers='' ;;
    'prime teams members 0') offers='' ;;
    'prime context use 0') offers='local prime @contexts' ;;
    'prime context show 0') offers='local prime @contexts' ;;
    'prime context add 0') offers='' ;;
    'prime context add 1') offers='' ;;
    'prime context rename 0') offers='local prime @contexts' ;;
    'prime context rename 1') offers='' ;;
    'prime context delete 0') offers='local prime @contexts' ;;
    'prime config get 0') offers='context team owner offline upstream storage trust require_signature ssh_key_path sky sky_infra' ;;
    'prime config set 0') offers='context team owner offline upstream storage trust require_signature ssh_key_path sky sky_infra' ;;
    'prime config set 1') offers='' ;;
    'prime config unset 0') offers='context team owner offline upstream storage trust require_signature ssh_key_path sky sky_infra' ;;
    'prime config use 0') offers='local prime @contexts' ;;
    'prime config import 0') offers='@files' ;;
    'prime completion install 0') offers='bash zsh fish powershell' ;;
    'prime completion uninstall 0') offers='bash zsh fish powershell' ;;
    *) return 1 ;;
  esac
}
_prime_words() {
  case $1 in
    'prime') words='env eval availability pods disks ssh-keys gc hub login logout whoami switch teams context config cache doctor completion' options='--context --version -v -h --help' ;;
    'prime env') words='init build check upload install trust bundle signers uninstall lock sync outdated diff pull info status list verify versions delete inspect' options='-h --help' ;;
    'prime env init') words='' options='--template --v1 --multi-file --path -p --force --rewrite-readme --output -o --quiet -q -h --help' ;;
    'prime env build') words='' options='--out-dir --no-check --offline --output -o --quiet -q -h --help' ;;
    'prime env check') words='' options='--num-examples -n --strict --judges --timeout --env-args -a --env-var --verifiers --python --hub --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime env upload') words='' options='--path -p --name -n --visibility -v --owner -o --team -t --runtime --auto-bump --rc --post --no-check --check --require-check --sign --attestation --allow-secrets --dry-run --context --offline --output --quiet -q -h --help' ;;
    'prime env install') words='' options='--with --path -p --no-upgrade --prerelease --sha256 --require-signature --dry-run --python --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime env trust') words='' options='--remove --output -o --quiet -q --context -h --help' ;;
    'prime env bundle') words='' options='--file -o --platform --python --data --no-sources --list --force --dry-run --yes -y --output --quiet -q --context --offline -h --help' ;;
    'prime env signers') words='' options='--key --identity --issuer --remove --output -o --quiet -q -h --help' ;;
    'prime env uninstall') words='' options='--with --python --output -o --quiet -q -h --help' ;;
    'prime env lock') words='' options='--upgrade -U --remove --check --dry-run --python --output -o --quiet -q --context --offline -h --help' ;;
    'prime env sync') words='' options='--check --dry-run --locked --frozen --inexact --python --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime env outdated') words='' options='--all -a --exit-code --python --output -o --quiet -q --context --offline -h --help' ;;
    'prime env diff') words='' options='--stat --python --output -o --quiet -q --context --offline -h --help' ;;
    'prime env pull') words='' options='--target -t --version -v --output -o --quiet -q --context --offline -h --help' ;;
    'prime env info') words='' options='--version -v --output -o --quiet -q --context --offline -h --help' ;;
    'prime env status') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime env list') words='' options='--num -n --limit -l --page -p --owner --visibility --search -s --tag -t --tags --sort --order --mine --starred --installed --python --output -o --quiet -q --context --offline -h --help' ;;
    'prime env verify') words='' options='--version -v --require-signature --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime env versions') words='' options='--full-hashes --output -o --quiet -q --context --offline -h --help' ;;
    'prime env delete') words='' options='--yes -y --force -f --output -o --quiet -q --context --offline -h --help' ;;
    'prime env inspect') words='' options='--version -v --max-bytes --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval') words='run list show view rerun rescore compare power leaderboard gate prices export push get samples logs delete' options='--model -m --num-examples -n --rollouts-per-example -r --max-concurrent --max-concurrent-requests -c --max-tokens -t --temperature -T --sampling-args -S --env-args -a --extra-env-kwargs -x --api-base-url -b --api-key-var -k --endpoints-path -e --provider -p --header --env-var --state-columns -C --independent-scoring -i --max-retries --max-error-rate --max-cost --token-budget --call-timeout --score-timeout --rollout-timeout --timeout --cache --resume -R --new --fail-under --baseline --max-drop --junit --github-summary --no-github-summary --verifiers --python --sandbox --allow-net --hub --save-results --save-dataset -s --push --save-to-hf-hub -H --hf-hub-dataset-name -D --verbose -v --yes -y --output --quiet -q --context --offline -h --help' ;;
    'prime eval run') words='' options='--model -m --num-examples -n --rollouts-per-example -r --max-concurrent --max-concurrent-requests -c --max-tokens -t --temperature -T --sampling-args -S --env-args -a --extra-env-kwargs -x --api-base-url -b --api-key-var -k --endpoints-path -e --provider -p --header --env-var --state-columns -C --independent-scoring -i --max-retries --max-error-rate --max-cost --token-budget --call-timeout --score-timeout --rollout-timeout --timeout --cache --resume -R --new --fail-under --baseline --max-drop --junit --github-summary --no-github-summary --verifiers --python --sandbox --allow-net --hub --save-results --save-dataset -s --push --save-to-hf-hub -H --hf-hub-dataset-name -D --verbose -v --yes -y --output --quiet -q --context --offline -h --help' ;;
    'prime eval list') words='' options='--num -n --page -p --env --env-name -e --hub --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval show') words='' options='--rollout --example --errors --output -o --quiet -q -h --help' ;;
    'prime eval view') words='' options='--env-dir -e --outputs-dir -o -h --help' ;;
    'prime eval rerun') words='' options='--model -m --max-concurrent -c --api-base-url -b --api-key-var -k --endpoints-path -e --provider -p --header --env-var --max-cost --token-budget --cache --sandbox --allow-net --force --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval rescore') words='' options='--environment --example --env-args -a --replay --max-concurrent -c --env-var --endpoints-path -e --max-cost --cache --sandbox --allow-net --force --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval compare') words='' options='--errors-as-zero --force --alpha --seed --output -o --quiet -q -h --help' ;;
    'prime eval power') words='' options='--difference -d --examples -n --rollouts -r --rate --sd --discordance --correlation --icc --alpha --power --output -o --quiet -q -h --help' ;;
    'prime eval leaderboard') words='' options='--csv --output -o --quiet -q -h --help' ;;
    'prime eval gate') words='' options='--fail-under --baseline --max-drop --max-error-rate --junit --github-summary --no-github-summary --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval prices') words='' options='--output -o --quiet -q -h --help' ;;
    'prime eval export') words='' options='--to --out -O --max-transcripts --force --save-to-hf-hub -H --hf-hub-dataset-name -D --public --output -o --quiet -q --offline -h --help' ;;
    'prime eval push') words='' options='--env --env-id -e --name --public --run-id -r --eval --eval-id --allow-partial --new --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval get') words='' options='--save --force --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval samples') words='' options='--num -n --page -p --errors --above --below --search -s --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval logs') words='' options='--tail -n --output -o --quiet -q --context --offline -h --help' ;;
    'prime eval delete') words='' options='--yes -y --force -f --output -o --quiet -q --context --offline -h --help' ;;
    'prime availability') words='list gpu-types disks' options='-h --help' ;;
    'prime availability list') words='' options='--gpu-type --gpu-count --regions --region --socket --provider --max-price --spot --no-spot --disks --group-similar --no-group-similar --output -o --quiet -q --context --offline -h --help' ;;
    'prime availability gpu-types') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime availability disks') words='' options='--regions --region --data-center-id --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods') words='create list status ssh exec cp logs history terminate' options='-h --help' ;;
    'prime pods create') words='' options='--id --cloud-id --gpu-type --gpu-count --regions --region --socket --provider --max-price --spot --no-spot --name --disk-size --vcpus --memory --image --custom-template-id --disks --env --for --nodes --ssh-key --team-id --team --share-with-team --add-members --member --wait --no-wait --timeout --dry-run --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods list') words='' options='--limit --offset --watch -w --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods status') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime pods ssh') words='' options='--identity -i --node --timeout --print --no-wait --no-config --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods exec') words='' options='--tty -t --identity -i --node --timeout --quiet -q --context --offline -h --help' ;;
    'prime pods cp') words='' options='--recursive -r --identity -i --node --timeout --quiet -q --context --offline -h --help' ;;
    'prime pods logs') words='' options='--tail -n --follow -f --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods history') words='' options='--limit --offset --output -o --quiet -q --context --offline -h --help' ;;
    'prime pods terminate') words='' options='--yes -y --no-wait --output -o --quiet -q --context --offline -h --help' ;;
    'prime disks') words='list get create update terminate' options='-h --help' ;;
    'prime disks list') words='' options='--limit --offset --watch -w --output -o --quiet -q --context --offline -h --help' ;;
    'prime disks get') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime disks create') words='' options='--size --id --name --country --cloud-id --data-center-id --team-id --team --provider-type --provider --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime disks update') words='' options='--name --output -o --quiet -q --context --offline -h --help' ;;
    'prime disks terminate') words='' options='--yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime ssh-keys') words='list add remove set-primary' options='-h --help' ;;
    'prime ssh-keys list') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime ssh-keys add') words='' options='--name --output -o --quiet -q --context --offline -h --help' ;;
    'prime ssh-keys remove') words='' options='--yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime ssh-keys set-primary') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime gc') words='' options='--dry-run --yes -y --output -o --quiet -q --context --offline -h --help' ;;
    'prime hub') words='serve user team token approve audit migrate gc backup restore' options='-h --help' ;;
    'prime hub serve') words='' options='--host --port --data --database --storage --public-url --admin --tls-cert --tls-key --workers --trusted-proxies --rate-limit --uploads --upstream --downloads --local-pods --pods-folder --pods-host --sky --sky-infra --log-format --quiet -q -h --help' ;;
    'prime hub user') words='add list remove' options='-h --help' ;;
    'prime hub user add') words='' options='--name --email --admin --data --database --output -o --quiet -q -h --help' ;;
    'prime hub user list') words='' options='--data --database --output -o --quiet -q -h --help' ;;
    'prime hub user remove') words='' options='--data --database --yes -y --output -o --quiet -q -h --help' ;;
    'prime hub team') words='add list remove' options='-h --help' ;;
    'prime hub team add') words='' options='--member --name --data --database --output -o --quiet -q -h --help' ;;
    'prime hub team list') words='' options='--data --database --output -o --quiet -q -h --help' ;;
    'prime hub team remove') words='' options='--member --data --database --yes -y --output -o --quiet -q -h --help' ;;
    'prime hub token') words='add list remove' options='-h --help' ;;
    'prime hub token add') words='' options='--name --scope --owner --expires --data --database --output -o --quiet -q -h --help' ;;
    'prime hub token list') words='' options='--user --data --database --output -o --quiet -q -h --help' ;;
    'prime hub token remove') words='' options='--user --data --database --output -o --quiet -q -h --help' ;;
    'prime hub approve') words='' options='--user --data --database --output -o --quiet -q -h --help' ;;
    'prime hub audit') words='' options='--user --action --on --limit -n --data --database --output -o --quiet -q -h --help' ;;
    'prime hub migrate') words='' options='--data --database --output -o --quiet -q -h --help' ;;
    'prime hub gc') words='' options='--data --database --storage --dry-run --output -o --quiet -q -h --help' ;;
    'prime hub backup') words='' options='--data --database --storage --force --output -o --quiet -q -h --help' ;;
    'prime hub restore') words='' options='--data --database --storage --output -o --quiet -q -h --help' ;;
    'prime login') words='' options='--hub --name --headless --token-stdin --storage --allow-http --output -o --quiet -q --context --offline -h --help' ;;
    'prime logout') words='' options='--all --revoke --keep-key --output -o --quiet -q --context --offline -h --help' ;;
    'prime whoami') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime switch') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime teams') words='list members' options='-h --help' ;;
    'prime teams list') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime teams members') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime context') words='list use show add rename delete' options='-h --help' ;;
    'prime context list') words='' options='--output -o --quiet -q -h --help' ;;
    'prime context use') words='' options='--output -o --quiet -q -h --help' ;;
    'prime context show') words='' options='--output -o --quiet -q -h --help' ;;
    'prime context add') words='' options='--web-url --team --allow-http --output -o --quiet -q -h --help' ;;
    'prime context rename') words='' options='--output -o --quiet -q -h --help' ;;
    'prime context delete') words='' options='--yes -y --force -f --output -o --quiet -q -h --help' ;;
    'prime config') words='show get set unset use path import' options='-h --help' ;;
    'prime config show') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime config get') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime config set') words='' options='--output -o --quiet -q --context -h --help' ;;
    'prime config unset') words='' options='--output -o --quiet -q --context -h --help' ;;
    'prime config use') words='' options='--output -o --quiet -q -h --help' ;;
    'prime config path') words='' options='--output -o --quiet -q -h --help' ;;
    'prime config import') words='' options='--storage --dry-run --output -o --quiet -q -h --help' ;;
    'prime cache') words='list prune verify' options='-h --help' ;;
    'prime cache list') words='' options='--kind --output -o --quiet -q -h --help' ;;
    'prime cache prune') words='' options='--older-than --all --kind --dry-run --output -o --quiet -q -h --help' ;;
    'prime cache verify') words='' options='--fix --kind --output -o --quiet -q -h --help' ;;
    'prime doctor') words='' options='--output -o --quiet -q --context --offline -h --help' ;;
    'prime completion') words='install uninstall bash zsh fish powershell' options='-h --help' ;;
    'prime completion install') words='' options='--yes -y --dry-run --output -o --quiet -q -h --help' ;;
    'prime completion uninstall') words='' options='--yes -y --dry-run --output -o --quiet -q -h --help' ;;
    'prime completion bash') words='' options='-h --help' ;;
    'prime completion zsh') words='' options='-h --help' ;;
    'prime completion fish') words='' options='-h --help' ;;
    'prime completion powershell') words='' options='-h --help' ;;
  esac
}
# A name from a file or of a folder is offered only if no shell would act upon it.
_prime_add() {
  case $1 in
    '' | [!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-]*) return ;;
  esac
  if [[ ${#1} -le 200 && $1 == "$current"* ]]; then COMPREPLY+=("$1"); fi
}
_prime_names() {
  local name count=0
  [[ -r $1 ]] || return
  while ((count++ < 1000)) && IFS= read -r name; do _prime_add "$name"; done < "$1"
}
# What a pattern finds in the first of several files that is there.
_prime_find() {
  local line file count=0 pattern=$1
  shift
  for file in "$@"; do
    [[ -r $file ]] || continue
    while ((count++ < 1000)) && IFS= read -r line; do
      if [[ $line =~ $pattern ]]; then _prime_add "${BASH_REMATCH[1]}"; fi
    done < "$file"
    return
  done
}
_prime_contexts() { _prime_find '^[[:space:]]*\[[[:space:]]*contexts\."?([^]"[:space:]]*)"?[[:space:]]*\]' "$home/config.toml"; }
_prime_models() {
  _prime_find '^[[:space:]]*endpoint_id[[:space:]]*=[[:space:]]*"([^"]*)"' configs/endpoints.toml endpoints.toml "$home/endpoints.toml"
  _prime_names "$home/completion/models"
}
_prime_offer() {
  local item path rest= IFS=$' \t\n' home=${PRIME_HOME:-${HOME-}/.prime}
  for item in $1; do
    case $item in
      @runs)
        for path in {,environments/*/}outputs/evals/*/*/; do
          path=${path%/}
          _prime_add "${path##*/}"
        done
        for path in {,environments/*/}outputs/*/traces.jsonl; do
          path=${path%/*}
          _prime_add "${path##*/}"
        done ;;
      @projects) for path in environments/*/; do path=${path%/}; _prime_add "${path##*/}"; done ;;
      @wheels) for path in *.whl dist/*.whl; do _prime_add "$path"; done; rest=files ;;
      @files) rest=files ;;
      @folders) rest=${rest:-folders} ;;
      @contexts) _prime_contexts ;;
      @models) _prime_models ;;
      @*) _prime_names "$home/completion/${item#@}" ;;
      *) if [[ $item == "$current"* ]]; then COMPREPLY+=("$item"); fi ;;
    esac
  done
  # With no name to offer, readline completes what it knows to quote: files or folders.
  case $rest in
    files) ;;
    folders) compopt +o bashdefault +o default -o dirnames 2>/dev/null ;;
    *) compopt +o bashdefault +o default 2>/dev/null ;;
  esac
}
_prime() {
  local current=${COMP_WORDS[COMP_CWORD]} word at=prime given=0 index offers= words= options=
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    if _prime_step "$at $word"; then continue; fi
    case $word in
      [=:@]) offers=; ((index++)) ;; # readline parts words there: this is one's second half
      -*)
        if _prime_offers "$at $word"; then
          if [[ ${COMP_WORDS[index + 1]} == = ]]; then ((index++)); fi
          if [[ ${COMP_WORDS[index + 1]} != -* ]]; then ((index++)); fi
        fi ;;
      *) _prime_default "$at"; ((given++)) ;;
    esac
  done
  case $current in
    :* | @*) return ;;
    =) current= ;;
  esac
  _prime_words "$at"
  if ((index > COMP_CWORD)); then
    _prime_offer "$offers"
  elif [[ $current == -* ]]; then
    _prime_offer "$options"
  else
    offers=
    _prime_offers "$at $given" || _prime_offers "$at ..."
    _prime_offer "$words $offers"
  fi
}
complete -o bashdefault -o default -F _prime prime
