'use strict';
// What the page holds: the run, an index of its rollouts, and their transcripts in packed chunks.

const byId = (id) => document.getElementById(id);
const run = JSON.parse(byId('run').textContent);
const packed = [...document.querySelectorAll('script.transcripts')];
const rollouts = [];

function unfold(index, chunk) {
  index.example.forEach((example, place) => {
    const metrics = {};
    for (const [name, values] of Object.entries(index.metrics)) metrics[name] = values[place];
    rollouts.push({
      example, chunk, place, metrics, rollout: index.rollout[place], reward: index.reward[place],
      kind: index.kind[place], error: index.error[place], truncated: index.truncated[place],
      output: index.output[place], seconds: index.seconds[place], stop: index.stop[place],
    });
  });
}
[...document.querySelectorAll('script.index')].forEach((element, chunk) => {
  unfold(JSON.parse(element.textContent), chunk);
});

// The lines of one chunk, each the JSON of a rollout; null where transcripts were left out.
const opened = new Map();
const MOST_OPENED = 6;
function lines(chunk) {
  let found = opened.get(chunk);
  if (found === undefined) found = inflate(JSON.parse(packed[chunk].textContent));
  opened.delete(chunk);
  opened.set(chunk, found);
  if (opened.size > MOST_OPENED) opened.delete(opened.keys().next().value);
  return found;
}

async function inflate(base64) {
  if (base64 === null) return null;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return (await new Response(stream).text()).split('\n');
}

async function transcriptOf(rollout) {
  const found = await lines(rollout.chunk);
  return found === null ? null : JSON.parse(found[rollout.place]);
}

// Whether some text inside `value` holds `wanted`, which is in lower case.
function holds(value, wanted) {
  if (typeof value === 'string') return value.toLowerCase().includes(wanted);
  if (value === null || typeof value !== 'object') return false;
  return Object.values(value).some((part) => holds(part, wanted));
}

// The escaped form is looked for first: most lines need not be parsed.
function lineHolds(line, wanted) {
  const escaped = JSON.stringify(wanted).slice(1, -1);
  return line.toLowerCase().includes(escaped) && holds(JSON.parse(line), wanted);
}

// A number as `format_number` of prime_cli/core/formatting.py writes it: the same text everywhere.
const PERFECT = ['1', '-1', '100'];
function number(value, digits = 3) {
  if (value === null || value === undefined) return 'none';
  const size = Math.abs(value);
  const whole = Math.round(value);
  if (size < 1e15 && Math.abs(value - whole) <= 1e-9 * Math.abs(whole)) return grouped(whole || 0);
  if (size < 0.1 || size >= 1e15) {
    const short = Number(toEven(value, (more) => value.toPrecision(digits + more)));
    const text = Math.abs(short) < 1e-4 || size >= 1e15 ? short.toExponential() : String(short);
    return text.replace(/e-(\d)$/, 'e-0$1');
  }
  let decimals = size < 1000 ? digits : Math.max(digits - 2, 1);
  let text;
  do {
    const [before, after] = toEven(value, (more) => value.toFixed(decimals + more)).split('.');
    text = `${grouped(Number(before))}.${after}`.replace(/\.?0+$/, '');
    decimals += 1;
  } while (PERFECT.includes(text));
  return text;
}

const grouped = (whole) => whole.toLocaleString('en');

// What lies exactly between two texts is rounded to the even one, as Python does.
function toEven(value, write) {
  const longer = write(1);
  const places = (longer.split('.')[1] || '').length;
  const isHalfway = longer.endsWith('5') && Number.isInteger(value * 2 ** places);
  return isHalfway && '02468'.includes(longer.at(-2)) ? longer.slice(0, -1) : write(0);
}

// Both ends with as many digits as tell them apart.
function ends(low, high) {
  let digits = 3;
  while (low !== high && digits < 17 && number(low, digits) === number(high, digits)) digits += 1;
  return [number(low, digits), number(high, digits)];
}

// An element with attributes and children; text only ever becomes text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// "page 2 of 5" with its buttons; nothing where one page holds everything.
function pager(element, page, pages, go) {
  if (pages < 2) return element.replaceChildren();
  const button = (text, target, dead) => {
    const made = make('button', { type: 'button', onclick: () => go(target) }, text);
    made.disabled = dead;
    return made;
  };
  return element.replaceChildren(
    button('First', 0, page === 0), button('Previous', page - 1, page === 0),
    make('span', {}, `page ${page + 1} of ${pages}`),
    button('Next', page + 1, page === pages - 1), button('Last', pages - 1, page === pages - 1),
  );
}
