// One rollout in a dialog: turns, tool calls, the parts of its reward, and everything else it holds.

let current = null;

function asText(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function turn(title, text, look) {
  return make('article', { class: `turn ${look}` }, make('h3', {}, title), make('pre', {}, text));
}

function folded(title, value) {
  return make('details', { class: 'turn' }, make('summary', {}, title), make('pre', {}, asText(value)));
}

// A content is a text, or a list of parts; what is no text is shown as its JSON, folded.
function contents(title, content, look) {
  if (content === null || content === undefined || content === '') return [];
  if (!Array.isArray(content)) return [turn(title, asText(content), look)];
  return content.map((part) => {
    const text = typeof part === 'string' ? part : part && part.text;
    if (typeof text === 'string') return turn(title, text, look);
    return folded(`${title}: ${(part && part.type) || 'not text'}`, part);
  });
}

// verifiers keeps tool calls as objects, or (0.1.x) as JSON in a string; arguments are JSON in one too.
function parsed(text) {
  if (typeof text !== 'string') return text;
  try { return JSON.parse(text); } catch { return text; }
}

function toolCall(raw) {
  const call = parsed(raw);
  const named = (call && call.function) || call;
  if (!named || typeof named !== 'object') return turn('calls', asText(raw), 'call');
  return turn(`calls ${asText(named.name ?? 'a tool')}`, asText(parsed(named.arguments ?? '')), 'call');
}

const SPOKEN = new Set(['role', 'content', 'tool_calls', 'reasoning_content']);
const LOOKS = new Set(['assistant', 'user', 'system', 'tool']);

function message(each) {
  if (each === null || typeof each !== 'object') return [turn('text', asText(each), '')];
  const role = String(each.role ?? 'message');
  const look = LOOKS.has(role) ? role : '';
  const rest = Object.fromEntries(Object.entries(each)
    .filter(([name, value]) => !SPOKEN.has(name) && value !== null));
  const calls = Array.isArray(each.tool_calls) ? each.tool_calls : [];
  return [
    ...contents(`${role}, thinking`, each.reasoning_content, look),
    ...contents(role, each.content, look),
    ...calls.map(toolCall),
    ...(Object.keys(rest).length ? [folded(`more of this ${role} message`, rest)] : []),
  ];
}

function messages(part) {
  if (part === null || part === undefined) return [];
  return Array.isArray(part) ? part.flatMap(message) : [turn('text', asText(part), '')];
}

function named(lines) {
  return make('table', {}, make('tbody', {}, ...lines.map(([name, value]) => make('tr', {},
    make('th', { scope: 'row' }, name),
    make('td', {}, typeof value === 'number' || value === null ? number(value) : asText(value))))));
}

const READ = new Set(['schema', 'prompt', 'completion', 'reward', 'metrics', 'error', 'answer']);
const isLarge = ([, value]) => typeof value === 'object' || String(value).length > 100;

function transcript(row) {
  const error = row.error;
  const more = Object.entries(row).filter(([name, value]) => !READ.has(name) && value !== null
    && !(typeof value === 'object' && Object.keys(value).length === 0));
  return [
    named([['reward', row.reward], ...Object.entries(row.metrics || {})]),
    make('h2', {}, 'Prompt'), ...messages(row.prompt),
    make('h2', {}, 'Completion'), ...messages(row.completion),
    ...(error ? [turn(`${error.class} error: ${error.type}`, error.message, 'error')] : []),
    ...(error && error.traceback ? [folded('traceback', error.traceback)] : []),
    ...contents('answer', row.answer, ''),
    make('h2', {}, 'Everything else'), named(more.filter((each) => !isLarge(each))),
    ...more.filter(isLarge).map(([name, value]) => folded(name, value)),
  ];
}

async function show(rollout) {
  current = rollout;
  const name = `${rollout.example}.${rollout.rollout}`;
  byId('rollout-title').textContent = `Rollout ${name}`;
  if (!byId('rollout').open) byId('rollout').showModal();
  const row = await transcriptOf(rollout);
  if (current !== rollout) return;
  byId('transcript').replaceChildren(...(row === null
    ? [make('p', {}, 'The transcript of this rollout was left out of this file.')] : transcript(row)));
  byId('transcript').scrollTop = 0;
  byId('transcript').focus();
  location.hash = `at-${name}`;
}

// Through what the filter found; through all where this one is not among it.
function step(by) {
  const among = matching.includes(current) ? matching : rollouts;
  const next = among[among.indexOf(current) + by];
  if (next) show(next);
}

byId('previous').addEventListener('click', () => step(-1));
byId('next').addEventListener('click', () => step(1));
byId('close').addEventListener('click', () => byId('rollout').close());
byId('rollout').addEventListener('close', () => { current = null; location.hash = 'closed'; });
byId('rollout').addEventListener('keydown', (event) => {
  if (event.key === 'ArrowLeft') step(-1);
  if (event.key === 'ArrowRight') step(1);
});

// An address that ends in #at-3.0 opens that rollout.
function openFromAddress() {
  const [example, rollout] = location.hash.replace('#at-', '').split('.').map(Number);
  const found = rollouts.find((each) => each.example === example && each.rollout === rollout);
  if (found && found !== current) show(found);
}
addEventListener('hashchange', openFromAddress);
