// The head of the page: what was run, and what it came to.

function fact(label, value, more) {
  const shown = make('dd', {}, value);
  if (more) shown.append(make('small', {}, more));
  return make('div', {}, make('dt', {}, label), shown);
}

function tableOf(title, columns, rows) {
  const cell = (tag, text, place) =>
    make(tag, typeof rows[0][place] === 'number' ? { class: 'number' } : {}, text);
  const shown = (value) => (typeof value === 'number' || value === null ? number(value) : value);
  return make('div', { class: 'scrolled' }, make('h3', {}, title), make('table', {},
    ...(columns.some(Boolean)
      ? [make('thead', {}, make('tr', {}, ...columns.map((text, place) => cell('th', text, place))))] : []),
    make('tbody', {}, ...rows.map((row) =>
      make('tr', {}, ...row.map((value, place) => cell('td', shown(value), place))))),
  ));
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return 'unknown';
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function between(reward) {
  if (reward.low === null || reward.low === reward.high) return '';
  return `between ${ends(reward.low, reward.high).join(' and ')}, as errors count as 0 or are left out`;
}

function precision(reward) {
  if (reward.interval === null) return 'of the mean, over examples';
  return `of the mean, over examples; 95 % interval ${ends(...reward.interval).join(' to ')}`
    + (reward.interval_method ? ` (${reward.interval_method})` : '');
}

function drawSummary() {
  const { summary } = run;
  const { counts, reward, environment } = summary;
  document.title = `${environment.ref} with ${summary.model}`;
  byId('title').textContent = environment.ref;
  byId('subtitle').textContent =
    `${summary.model}, run ${summary.run_id}, ${summary.date || 'undated'}, ${summary.status}`;
  byId('notes').replaceChildren(...run.notes.map((note) => make('li', {}, note)));
  byId('facts').replaceChildren(
    fact('Mean reward', number(reward.mean), between(reward)),
    fact('Standard deviation', number(reward.std)),
    fact('Standard error', number(reward.stderr), precision(reward)),
    fact('Planned', number(counts.planned),
      `${number(summary.num_examples)} examples x ${number(summary.rollouts_per_example)}`),
    fact('Scored', number(counts.scored)),
    fact('Errored', number(counts.errored)),
    fact('Truncated', number(counts.truncated)),
    fact('Time', duration(summary.seconds)),
    ...Object.entries(run.spent).map(([label, text]) => fact(label, text)),
  );
  const metrics = Object.entries(summary.metrics).map(([name, of]) => [name, of.mean, of.std]);
  const errors = summary.errors.map((each) => [each.class, each.type, each.count, each.message]);
  byId('tables').append(tableOf('Run', ['', ''], run.facts));
  for (const [name, spent] of run.parts) {
    byId('tables').append(tableOf(`Spent by ${name}`, ['', ''], Object.entries(spent)));
  }
  if (metrics.length) byId('tables').append(tableOf('Metrics', ['metric', 'mean', 'std'], metrics));
  if (errors.length) {
    byId('tables').append(tableOf('Errors', ['class', 'type', 'count', 'first message'], errors));
  }
}
