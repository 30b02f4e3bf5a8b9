// ---- overview: how each knowledge base does, and the journal
const FOLLOW = 5000;
const journal = { knowledge_base: '', outcome: '', page: 0, open: new Set() };
let overview = null, overviewText = '', changed = false;
const failed = call => !['ok', 'empty'].includes(call.outcome);
const warned = call => !failed(call) && call.notes.length > 0;
const badge = call => h('span', { className: `badge ${failed(call) ? 'bad' : warned(call) || call.outcome === 'empty' ? 'dim' : 'good'}` },
  failed(call) ? headline(call.outcome) : word(call.outcome), warned(call) ? ` · ${word('warning')}` : '');
// "tried again in 9 s" as a time of day: the sentence is read later than it was said.
const said = call => call.text.replace(/\bin (\d+) s\b/, (_, seconds) => `at ${when(call.at + Number(seconds))}`);
const labels = () => ({ backend: word('backend'), ...Object.fromEntries(Object.values(FORMS).flatMap(form => [...form.fields, ...form.retrieval]).map(field => [field.name, local(field.label)])) });

async function readOverview() {
  const { knowledge_base, outcome, page } = journal;
  const answer = await ask('/overview', { knowledge_base, outcome, page });
  if (answer.ok) {
    const text = JSON.stringify({ ...answer, now: 0 });
    changed ||= text !== overviewText;
    overview = answer; overviewText = text; takesConnections = answer.takes_connections; journal.page = answer.page;
  }
  return answer;
}
// The overview follows along while it can be seen.
let following = false;
setInterval(async () => {
  if (following || tab !== 'overview' || document.visibilityState !== 'visible' || !overview) return;
  following = true;
  await readOverview();
  following = false;
  showOverview();
}, FOLLOW);

function chart(recent) {
  const most = Math.max(...recent.map(call => call.milliseconds), 1), step = 100 / Math.max(recent.length, 12);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 100 40'); svg.setAttribute('preserveAspectRatio', 'none'); svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', recent.map(call => `${call.milliseconds} ms ${word(failed(call) ? 'failed' : call.outcome)}`).join(', '));
  recent.forEach((call, i) => {
    const bar = document.createElementNS(svg.namespaceURI, 'rect'), height = Math.max(2, 38 * call.milliseconds / most);
    for (const [name, value] of Object.entries({ x: i * step, y: 40 - height, width: step * .8, height })) bar.setAttribute(name, value);
    if (failed(call)) bar.setAttribute('class', 'bad');
    svg.append(bar);
  });
  return h('div', { className: 'chart' }, svg, h('div', { className: 'scale muted' }, h('span', {}, `${most} ms`), h('span', {}, '0')));
}
function health({ uuid, name, connection, health: found, refused }) {
  const last = found?.last, error = found?.last_error;
  return h('section', { className: 'card' }, h('h2', {}, name),
    refused ? [h('p', { className: 'bad' }, word('refused', when(refused.at))), failure({ kind: refused.outcome, error: said(refused) }, `refused-${uuid}`)] : null,
    last ? h('p', {}, badge(last), ' ', when(last.at)) : h('p', { className: 'muted' }, word('never')),
    last ? h('p', { className: 'muted' }, last.service, connection ? ` (${connection})` : '') : null,
    found?.calls ? [h('p', { className: 'muted' }, [`${word('hour')}: ${counted('calls_number', found.calls)}`, found.rate === null ? '' : `${found.rate} % ${word('rate')}`,
      found.median === null ? '' : `${word('median')} ${found.median} ms · ${word('p95')} ${found.p95} ms`].filter(Boolean).join(' · ')), chart(found.recent)] : null,
    error ? h('details', { id: `error-${uuid}`, open: failed(last) }, h('summary', {}, `${word('last_error')}: ${headline(error.outcome)}, ${when(error.at)}`),
      h('div', { className: 'failure' }, remedy({ kind: error.outcome, error: said(error) }, `error-${uuid}`))) : null);
}
function bases() {
  const [mine, others] = [true, false].map(own => overview.knowledge_bases.filter(base => base.mine === own));
  return [mine.length ? h('div', { className: 'cards' }, mine.map(health)) : h('p', { className: 'muted' }, word('no_bases')),
    others.length ? h('details', { id: 'others', className: 'card' }, h('summary', {}, counted('others', others.length)), h('p', { className: 'muted' }, word('others_are')),
      h('ul', {}, others.map(base => h('li', {}, base.name, base.refused ? h('span', { className: 'bad' }, ` · ${word('refused', when(base.refused.at))}: ${said(base.refused)}`) : null)))) : null];
}

// The settings that a search counted with, under their labels.
function settingsThatCounted(settings) {
  const names = labels();
  return h('dl', {}, Object.entries(settings).map(([name, value]) => [h('dt', { title: name }, names[name] || name), h('dd', {}, typeof value === 'string' ? value || '–' : JSON.stringify(value))]));
}
function details(call) {
  const facts = [['service', call.service], ['version', call.version], ['connection', call.connection], ['measure', call.measure],
    ['tries', call.tries], ['ms', call.milliseconds], ['query', call.query]].filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return h('div', { className: 'details' }, failed(call) ? failure({ kind: call.outcome, error: said(call) }, `call-${call.id}`) : null,
    warnings(call.notes),
    h('dl', {}, facts.map(([name, value]) => [h('dt', {}, word(name)), h('dd', {}, String(value))])),
    Object.keys(call.settings).length ? [h('h3', {}, word('counted')), settingsThatCounted(call.settings)] : null);
}
function rows(call, name, queries, columns) {
  const open = journal.open.has(call.id), cell = (word_, text, kind = '') => h('td', { className: kind, 'data-label': word(word_) }, text);
  const turn = () => { journal.open[open ? 'delete' : 'add'](call.id); again('overview-calls'); };
  return [h('tr', {}, cell('time', when(call.at), 'number'), cell('base', [name, call.origin === 'search' ? null : h('small', {}, ` · ${word(call.trial ? 'trial' : call.origin)}`)]),
    cell('outcome', badge(call)), cell('entries', String(call.entries), 'number'), cell('ms', String(call.milliseconds), 'number'),
    cell('why', failed(call) ? [said(call), ' ', copier(`row-${call.id}`, call.text)] : call.notes.join('; '), failed(call) ? '' : 'dim'), queries ? cell('query', call.query) : null,
    h('td', {}, button(`call-${call.id}`, word(open ? 'less' : 'more'), turn, { kind: 'small', 'aria-expanded': String(open), 'aria-label': `${word(open ? 'less' : 'more')}: ${name}, ${when(call.at)}` }))),
    open ? h('tr', { className: 'unfolded' }, h('td', { colSpan: columns }, details(call))) : null];
}
function calls() {
  const { calls: found, total, page, pages, queries } = overview, names = Object.fromEntries(overview.knowledge_bases.map(base => [base.uuid, base.name]));
  const heads = ['time', 'base', 'outcome', 'entries', 'ms', 'why', ...(queries ? ['query'] : [])];
  const turn = by => () => { journal.page = page + by; refresh(); };
  if (!total) return h('p', { className: 'muted' }, word(journal.knowledge_base || journal.outcome ? 'none_fit' : 'no_calls'));
  return [h('div', { className: 'table' }, h('table', {}, h('thead', {}, h('tr', {}, heads.map(name => h('th', { scope: 'col' }, word(name))), h('th', { scope: 'col', 'aria-label': word('more') }))),
    h('tbody', {}, found.map(call => rows(call, names[call.knowledge_base] ?? word('deleted_base'), queries, heads.length + 1))))),
  h('div', { className: 'row spread pager' }, h('small', {}, word('range', page * 20 + 1, page * 20 + found.length, total)),
    h('div', { className: 'row' }, button('newer', word('newer'), turn(-1), { off: page === 0 }), button('older', word('older'), turn(1), { off: page >= pages - 1 })))];
}
const refresh = async () => {
  const answer = await readOverview();
  if (!answer.ok) return redraw(panel, failure(answer, 'overview'), button('again', word('again'), draw));
  showOverview();
};
// What stays as it is isn't drawn anew: a reader would speak it again, and a list that is open would close.
function showOverview() {
  again('overview-read');
  if (changed) ['overview-bases', 'overview-calls'].forEach(again);
  changed = false;
  if (filtered !== filterable().map(base => base.name).join()) again('overview-filters');
}
const filterable = () => overview.knowledge_bases.filter(base => base.mine || base.refused);
let filtered = '';
function filters() {
  const choose = name => event => { journal[name] = event.target.value; journal.page = 0; refresh(); };
  filtered = filterable().map(base => base.name).join();
  return h('div', { className: 'row' },
    h('select', { id: 'filter-base', 'aria-label': word('base'), onchange: choose('knowledge_base') }, option('', word('all_bases'), journal.knowledge_base),
      filterable().map(base => option(base.uuid, base.name, journal.knowledge_base))),
    h('select', { id: 'filter-outcome', 'aria-label': word('outcome'), onchange: choose('outcome') }, ['', 'ok', 'empty', 'failed', 'warning'].map(name => option(name, word(name || 'all_outcomes'), journal.outcome))));
}
function drawOverview() {
  const keep = async event => { await ask('/queries', { on: event.target.checked }); refresh(); };
  return [h('div', { className: 'row spread' }, part('overview-read', () => h('small', {}, word('read_at', when(overview.now)))), button('refresh', word('refresh'), refresh)),
    part('overview-bases', bases),
    h('section', { className: 'card' }, h('div', { className: 'row spread' }, h('h2', {}, word('calls')), part('overview-filters', filters)),
    part('overview-calls', calls),
    h('label', { className: 'row' }, h('input', { type: 'checkbox', id: 'queries', checked: overview.queries, onchange: keep }), word('keep_queries')))];
}
