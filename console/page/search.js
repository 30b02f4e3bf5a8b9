// ---- search: one question, with one to three settings side by side
const MOST_VARIANTS = 3;
const asking = { source: '', question: '', filters: '', variants: [{}], run: null, asked: [], problem: '' };
const VARIED = field => field.name !== 'timeout';

// What can be asked: this plugin's knowledge bases, its connections, and what else the host lists.
function sources() {
  const groups = [['bases', overview.knowledge_bases.filter(base => base.mine), 'kb'], ['connections', connections ?? [], 'c'], ['others_group', overview.knowledge_bases.filter(base => !base.mine), 'kb']];
  return groups.map(([name, found, kind]) => [name, found.map(one => ({ value: `${kind}:${one.uuid ?? one.name}`, label: one.name, kind, one }))]).filter(([, found]) => found.length);
}
const source = () => { const all = sources().flatMap(([, found]) => found); return all.find(one => one.value === asking.source) ?? all[0]; };
const backendOf = ({ kind, one }) => kind === 'c' ? one.settings.backend : one.backend;
const standing = ({ kind, one }) => kind === 'c' ? {} : one.retrieval ?? {};
// The retrieval settings of a source's service; those that all services share where the service isn't known yet.
function varied(from) {
  const forms = FORMS[backendOf(from)] ? [FORMS[backendOf(from)]] : Object.values(FORMS);
  return forms[0].retrieval.filter(VARIED).filter(field => forms.every(form => form.retrieval.some(other => other.name === field.name)));
}
const spoken = (field, value) => field.type === 'boolean' ? word(value === true || value === 'true' ? 'on' : 'off')
  : field.type === 'select' ? local(field.options.find(one => one.name === value)?.label) || String(value) : value === '' ? '–' : String(value);

function variantField(field, variant, index, from) {
  const id = `variant-${index}-${field.name}`, now = standing(from)[field.name] ?? field.default, unchanged = word('unchanged', spoken(field, now));
  const read = value => field.type === 'boolean' ? value === 'true' : ['integer', 'float'].includes(field.type) && !Number.isNaN(Number(value)) ? Number(value) : value;
  const set = event => { const value = event.target.value.trim(); if (value === '') delete variant[field.name]; else variant[field.name] = read(value); };
  const choices = field.type === 'boolean' ? ['true', 'false'].map(value => [value, word(value === 'true' ? 'on' : 'off')]) : field.options?.map(one => [one.name, local(one.label)]);
  const held = String(variant[field.name] ?? '');
  return labelled(id, local(field.label), choices ? h('select', { id, onchange: set }, option('', unchanged, held), choices.map(([value, text]) => option(value, text, held)))
    : h('input', { id, value: held, placeholder: unchanged, oninput: set, inputMode: field.type === 'integer' ? 'numeric' : field.type === 'float' ? 'decimal' : 'text' }));
}
function variantBox(variant, index, from) {
  const [first, ...rest] = varied(from), main = [first, ...rest.filter(field => ['score_threshold', 'search_mode', 'rerank', 'vector_weight'].includes(field.name))];
  const more = rest.filter(field => !main.includes(field)), number = asking.variants.length > 1 ? ` ${index + 1}` : '';
  return h('fieldset', { className: 'card' }, h('legend', {}, word('settings_of') + number), main.map(field => variantField(field, variant, index, from)),
    more.length ? h('details', { id: `variant-${index}-more`, open: more.some(field => field.name in variant) }, h('summary', {}, word('more_settings')), more.map(field => variantField(field, variant, index, from))) : null,
    asking.variants.length > 1 ? button(`variant-${index}-remove`, word('remove'), () => { asking.variants.splice(index, 1); again('variants'); }, { kind: 'small' }) : null);
}
const variants = () => {
  const from = source();
  return [h('div', { className: 'columns' }, asking.variants.map((variant, index) => variantBox(variant, index, from))),
    asking.variants.length < MOST_VARIANTS ? button('compare', word('compare'), () => { asking.variants.push({ ...asking.variants.at(-1) }); again('variants'); }) : null];
};

const sameAs = entry => `${entry.title}\n${entry.text}`;
const passages = (entries, marks = () => null) => entries.map((entry, i) => h('article', { className: 'card passage' },
  h('div', { className: 'row spread' }, h('strong', {}, `${i + 1}. ${entry.title}`), marks(entry),
    h('small', {}, `${word('score')} ${figure(entry.score)} · ${word('distance')} ${figure(entry.distance)}${entry.measure ? ` · ${entry.measure}` : ''}`)),
  h('p', { className: 'text' }, entry.text), h('details', {}, h('summary', { className: 'muted' }, word('metadata')), h('pre', {}, JSON.stringify(entry.metadata, null, 2)))));

// What to set in LangBot's form to have a column's settings there, by hand.
function toSet(variant, from, index) {
  const changed = varied(from).filter(field => field.name in variant);
  if (!changed.length) return null;
  const lines = changed.map(field => `${local(field.label)}: ${spoken(field, variant[field.name])}`);
  return h('div', { className: 'toset' }, h('p', { className: 'muted' }, word('to_set')), h('ul', {}, lines.map(line => h('li', {}, line))), copier(`toset-${index}`, lines.join('\n')));
}
function column(found, index, all, from) {
  const others = all.filter((_, i) => i !== index).filter(other => other.ok);
  const marks = entry => others.map(other => {
    const rank = other.entries.findIndex(one => sameAs(one) === sameAs(entry));
    return h('span', { className: rank < 0 ? 'mark only' : 'mark' }, rank < 0 ? others.length > 1 ? word('not_in', all.indexOf(other) + 1) : word('only_here') : word('also_at', all.indexOf(other) + 1, rank + 1));
  });
  const head = asking.asked.length > 1 ? h('h2', {}, `${word('settings_of')} ${index + 1}`) : null;
  if (!found) return h('section', {}, head, h('p', { className: 'muted' }, word('waiting')));
  if (!found.ok) return h('section', {}, head, failure(found, `column-${index}`));
  const count = found.entries.length;
  return h('section', {}, head, h('p', { className: count ? 'good' : 'dim' }, count ? counted('found', count, found.milliseconds) : word('nothing', found.milliseconds)),
    warnings(found.notes), passages(found.entries, marks),
    Object.keys(found.settings).length ? h('details', { id: `counted-${index}` }, h('summary', { className: 'muted' }, word('counted')), settingsThatCounted(found.settings)) : null, toSet(asking.asked[index], from, index));
}
function found() {
  const { run, asked, problem } = asking, from = source();
  if (problem) return failure({ kind: 'SettingsError', error: problem }, 'search');
  if (!run) return null;
  const { answer } = run, columns = answer?.columns ?? run.columns;
  return [!answer ? running(run, word('searching'), 'search') : !answer.ok ? failure(answer, 'search') : null,
    columns.length || !answer ? h('div', { className: 'columns' }, asked.map((_, index) => column(columns[index], index, columns, from))) : null];
}
async function search(event) {
  event.preventDefault();
  if (asking.run && !asking.run.answer) return;
  const from = source();
  let filters = {};
  asking.problem = asking.question.trim() ? '' : word('blank_question');
  if (asking.filters.trim()) try { filters = JSON.parse(asking.filters); } catch { asking.problem = word('bad_filters'); }
  if (!asking.problem && (typeof filters !== 'object' || filters === null || Array.isArray(filters))) asking.problem = word('bad_filters');
  if (asking.problem) { asking.run = null; return again('found'); }
  asking.asked = asking.variants.map(variant => ({ ...variant }));
  asking.run = watched('/search', { [from.kind === 'c' ? 'connection' : 'knowledge_base']: from.kind === 'c' ? from.one.name : from.one.uuid, query: asking.question, filters, variants: asking.asked }, () => again('found'));
  again('found');
  await asking.run.done;
  again('found');
}
function drawSearch() {
  const all = sources();
  if (!all.length) return h('p', { className: 'muted' }, word('no_bases'));
  const chosen = event => { Object.assign(asking, { source: event.target.value, variants: [{}], run: null, problem: '' }); ['variants', 'found'].forEach(again); };
  return [h('form', { onsubmit: search }, h('div', { className: 'search' },
    h('select', { id: 'source', 'aria-label': word('choose'), onchange: chosen }, all.map(([name, group]) => h('optgroup', { label: word(name) }, group.map(one => option(one.value, one.label, source().value))))),
    h('input', { id: 'asked', type: 'search', value: asking.question, placeholder: word('question'), 'aria-label': word('question'), oninput: event => { asking.question = event.target.value; } }),
    h('button', { className: 'main', id: 'ask' }, word('ask'))),
  h('details', { id: 'search-settings', open: asking.variants.length > 1 }, h('summary', {}, word('search_settings')), part('variants', variants),
    labelled('filters', word('filters'), h('input', { id: 'filters', value: asking.filters, placeholder: '{"category": "policy"}', oninput: event => { asking.filters = event.target.value; } }), h('small', {}, word('filters_are'))))),
  part('found', found)];
}
