// One row an example, one cell a rollout: its colour and number are the reward.

const CELLS_ON_A_PAGE = 2000;
const SHADES = 10;

const examples = new Map();
for (const rollout of rollouts) {
  if (!examples.has(rollout.example)) examples.set(rollout.example, []);
  examples.get(rollout.example).push(rollout);
}
const exampleIds = [...examples.keys()];
const columns = [...new Set(rollouts.map((rollout) => rollout.rollout))].sort((a, b) => a - b);
const examplesOnAPage = Math.max(1, Math.floor(CELLS_ON_A_PAGE / Math.max(1, columns.length)));

// Colours span 0 to 1, and as much more as there is.
let lowest = 0;
let highest = 1;
for (const { reward } of rollouts) {
  if (reward !== null) { lowest = Math.min(lowest, reward); highest = Math.max(highest, reward); }
}
const shade = (reward) => Math.round(((reward - lowest) / (highest - lowest)) * SHADES);

function cell(rollout) {
  if (rollout === undefined) return make('td', {});
  const name = `${rollout.example}.${rollout.rollout}`;
  const told = rollout.reward === null ? `error ${rollout.error}` : `reward ${number(rollout.reward)}`;
  const look = rollout.reward === null ? 'error' : `s${shade(rollout.reward)}`;
  const button = make('button', {
    type: 'button', tabindex: -1, class: rollout.truncated ? `${look} cut` : look,
    title: `${name}: ${told}${rollout.truncated ? ', truncated' : ''}`,
    'aria-label': `rollout ${name}, ${told}${rollout.truncated ? ', truncated' : ''}`,
    onclick: () => show(rollout),
  }, rollout.reward === null ? '!' : number(rollout.reward));
  return make('td', { role: 'gridcell' }, button);
}

function row(example) {
  const found = new Map(examples.get(example).map((rollout) => [rollout.rollout, rollout]));
  return make('tr', {}, make('th', { scope: 'row' }, example),
    ...columns.map((column) => cell(found.get(column))));
}

function drawGrid(page) {
  const shown = exampleIds.slice(page * examplesOnAPage, (page + 1) * examplesOnAPage);
  const pages = Math.ceil(exampleIds.length / examplesOnAPage);
  byId('grid').replaceChildren(
    make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'example'),
      ...columns.map((column) => make('th', { scope: 'col' }, `.${column}`)))),
    make('tbody', {}, ...shown.map(row)),
  );
  const first = byId('grid').querySelector('button');
  if (first) first.tabIndex = 0;
  pager(byId('grid-pages'), page, pages, drawGrid);
}

function drawLegend() {
  byId('legend').replaceChildren(
    make('span', {}, `Orange is ${number(lowest)}, blue is ${number(highest)}; ! is an error; a thick lower edge: cut by a token limit.`),
    make('span', {}, 'Arrow keys move, Enter opens.'),
  );
}

// One cell is in the order of Tab; arrows move between them.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
byId('grid').addEventListener('keydown', (event) => {
  const step = STEPS[event.key];
  const here = event.target.closest('td');
  if (!step || !here) return;
  const rows = byId('grid').rows;
  let target = rows[here.parentElement.rowIndex + step[0]];
  target = target && target.cells[here.cellIndex + step[1]];
  const button = target && target.querySelector('button');
  if (!button) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  button.tabIndex = 0;
  button.focus();
});
