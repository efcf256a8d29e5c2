// The list of rollouts, filtered by reward, ending and text.

const ON_A_PAGE = 50;
let matching = rollouts;
let search = 0;

const limit = (id, otherwise) => (byId(id).value === '' ? otherwise : Number(byId(id).value));

const ENDINGS = {
  any: () => true,
  scored: (rollout) => rollout.reward !== null,
  errored: (rollout) => rollout.error !== null,
  truncated: (rollout) => rollout.truncated,
};

const ORDERS = {
  example: null,
  low: (a, b) => (a.reward ?? Infinity) - (b.reward ?? Infinity),
  high: (a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity),
  long: (a, b) => (b.output ?? -1) - (a.output ?? -1),
};

function fillEndings() {
  const option = (value, text) => make('option', { value }, text);
  const types = [...new Set(rollouts.map((rollout) => rollout.error))].filter((type) => type !== null);
  byId('ending').replaceChildren(
    option('any', 'in any way'), option('scored', 'with a reward'), option('errored', 'in an error'),
    option('truncated', 'truncated'), ...types.sort().map((type) => option(`error:${type}`, `in ${type}`)),
  );
}

function candidates() {
  const low = limit('from', -Infinity);
  const high = limit('to', Infinity);
  const bounded = low !== -Infinity || high !== Infinity;
  const ending = byId('ending').value;
  const ended = ENDINGS[ending] || ((rollout) => `error:${rollout.error}` === ending);
  return rollouts.filter((rollout) => ended(rollout)
    && (!bounded || (rollout.reward !== null && rollout.reward >= low && rollout.reward <= high)));
}

// Chunk after chunk, so that the page stays alive; a newer search ends an older one.
async function withText(found, wanted, mine) {
  const kept = [];
  let unread = 0;
  for (const [at, rollout] of found.entries()) {
    const texts = await lines(rollout.chunk);
    if (mine !== search) return null;
    if (texts === null) unread += 1;
    else if (lineHolds(texts[rollout.place], wanted)) kept.push(rollout);
    if (at % 500 === 0) byId('found').textContent = `Searching: ${number(at)} of ${number(found.length)} rollouts`;
  }
  return { kept, unread };
}

async function filter() {
  const mine = ++search;
  const wanted = byId('text').value.toLowerCase();
  let found = candidates();
  let unread = 0;
  if (wanted) {
    const result = await withText(found, wanted, mine);
    if (result === null) return;
    ({ kept: found, unread } = result);
  }
  const order = ORDERS[byId('order').value];
  matching = order ? found.toSorted(order) : found;
  byId('found').textContent = `${number(matching.length)} of ${number(rollouts.length)} rollouts`
    + (unread ? `; ${unread} were not searched, because their transcripts are not in this file` : '');
  drawList(0);
}

function line(rollout) {
  const ended = rollout.error !== null ? `${rollout.kind} error: ${rollout.error}` : rollout.stop || '';
  const open = make('button', { type: 'button', onclick: () => show(rollout) }, `${rollout.example}.${rollout.rollout}`);
  return make('tr', {}, make('td', {}, open),
    make('td', { class: 'number' }, rollout.reward === null ? '' : number(rollout.reward)),
    make('td', rollout.error === null ? {} : { class: 'bad' }, ended + (rollout.truncated ? ' (truncated)' : '')),
    make('td', { class: 'number' }, rollout.output === null ? '' : number(rollout.output)),
    make('td', { class: 'number' }, rollout.seconds === null ? '' : rollout.seconds.toFixed(1)),
    ...Object.keys(run.summary.metrics).slice(0, 6).map((name) =>
      make('td', { class: 'number' }, typeof rollout.metrics[name] === 'number' ? number(rollout.metrics[name]) : '')));
}

function drawList(page) {
  const shown = matching.slice(page * ON_A_PAGE, (page + 1) * ON_A_PAGE);
  const head = (text) => make('th', { scope: 'col' }, text);
  const right = (text) => make('th', { scope: 'col', class: 'number' }, text);
  byId('list').replaceChildren(
    make('thead', {}, make('tr', {}, head('rollout'), right('reward'), head('ended'), right('output tokens'),
      right('seconds'), ...Object.keys(run.summary.metrics).slice(0, 6).map(right))),
    make('tbody', {}, ...shown.map(line)),
  );
  pager(byId('list-pages'), page, Math.ceil(matching.length / ON_A_PAGE), drawList);
}

function pickRewards(bin) {
  byId('from').value = bin.from;
  byId('to').value = bin.to;
  filter();
  byId('rollouts-title').scrollIntoView();
}

let typing = 0;
byId('filter').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(filter, 200);
});
byId('filter').addEventListener('reset', () => setTimeout(filter));
byId('filter').addEventListener('submit', (event) => { event.preventDefault(); filter(); });
