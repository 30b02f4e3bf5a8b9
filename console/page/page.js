let language = 'en_US', tab = 'overview', takesConnections = true;
const main = document.querySelector('main'), nav = document.querySelector('nav');
const word = (name, ...values) => (WORDS[language][name] ?? name).replace(/\{(\d)\}/g, (_, i) => values[i]);
const local = texts => texts?.[language] ?? texts?.en_US ?? '';

// An element of a tag with properties and children; texts are only ever set as texts.
function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== 'list' && name !== 'role') element[name] = value;
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ''));
  return element;
}
const show = (...children) => main.replaceChildren(...children.flat().filter(Boolean));
const waiting = text => h('div', {}, h('p', { className: 'muted' }, text), h('progress', {}));
const notice = (text, kind = 'bad') => h('p', { className: kind, role: 'alert' }, text);
const pause = ms => new Promise(done => setTimeout(done, ms));

// LangBot hands every rejection over without a text: no rights, or a plugin that restarts; the second passes.
async function ask(endpoint, body) {
  try { return await langbot.api(endpoint, body ?? {}); }
  catch { await pause(2000); return await langbot.api(endpoint, body ?? {}); }
}
async function load(endpoint, body, then) {
  show(waiting(word('loading')));
  let answer;
  try { answer = await ask(endpoint, body); }
  catch { return show(notice(word('no_rights')), h('button', { onclick: draw }, word('again'))); }
  if (!answer?.ok) return show(notice(answer?.error ?? word('no_rights')), h('button', { onclick: draw }, word('again')));
  then(answer);
}

// ---- overview
const failed = call => !['ok', 'empty'].includes(call.outcome);
const at = seconds => new Date(seconds * 1000).toLocaleTimeString(language.replace('_', '-'));
const rank = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const warned = call => call.notes?.length > 0;
const badge = call => h('span', { className: failed(call) ? 'bad' : call.outcome === 'ok' && !warned(call) ? 'good' : 'dim' },
  failed(call) ? `${word('failed')} · ${call.outcome}` : `${word(call.outcome)}${warned(call) ? ` · ${word('warning')}` : ''}`);

function chart(calls) {
  const most = Math.max(...calls.map(call => call.milliseconds), 1), step = 100 / Math.max(calls.length, 12);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 100 40'); svg.setAttribute('preserveAspectRatio', 'none'); svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', calls.map(call => `${call.milliseconds} ms ${word(failed(call) ? 'failed' : call.outcome)}`).join(', '));
  calls.forEach((call, i) => {
    const bar = document.createElementNS(svg.namespaceURI, 'rect'), height = Math.max(2, 38 * call.milliseconds / most);
    for (const [name, value] of Object.entries({ x: i * step, y: 40 - height, width: step * .8, height })) bar.setAttribute(name, value);
    if (failed(call)) bar.setAttribute('class', 'bad');
    svg.append(bar);
  });
  return svg;
}
function health(base, calls, now) {
  const own = calls.filter(call => call.knowledge_base === base.uuid);
  if (!own.length) return h('section', { className: 'card' }, h('h2', {}, base.name), h('p', { className: 'muted' }, word('never')));
  const recent = own.filter(call => now - call.at < 3600), times = recent.map(call => call.milliseconds).sort((a, b) => a - b);
  const error = own.find(failed), good = recent.filter(call => !failed(call)).length;
  return h('section', { className: 'card' }, h('h2', {}, base.name),
    h('p', {}, badge(own[0]), ` ${at(own[0].at)}`), h('p', { className: 'muted' }, own[0].service),
    recent.length ? [h('p', { className: 'muted' }, `${word('hour')}: ${Math.round(100 * good / recent.length)} % ${word('rate')} · ${word('median')} ${rank(times, .5)} ms · ${word('p95')} ${rank(times, .95)} ms`),
      chart(recent.slice(0, 40).reverse())] : null,
    error ? h('p', {}, h('small', {}, `${word('last_error')} ${at(error.at)}: `), h('span', { className: 'bad' }, error.text || error.outcome)) : null);
}
function drawOverview(answer) {
  takesConnections = answer.takes_connections; drawNav();
  const names = Object.fromEntries(answer.knowledge_bases.map(base => [base.uuid, base.name]));
  const bases = answer.knowledge_bases.filter(base => answer.calls.some(call => call.knowledge_base === base.uuid));
  const queries = h('input', { type: 'checkbox', id: 'queries', checked: answer.queries,
    onchange: async event => { await ask('/queries', { on: event.target.checked }).catch(() => {}); draw(); } });
  const heads = ['time', 'base', 'service', 'outcome', 'entries', 'ms', 'tries', 'why', ...(answer.queries ? ['query'] : [])];
  show(h('div', { className: 'row spread' }, h('label', { className: 'row' }, queries, word('keep_queries')), h('button', { onclick: draw }, word('refresh'))),
    h('div', { className: 'cards' }, bases.map(base => health(base, answer.calls, answer.now))),
    !answer.knowledge_bases.length ? h('p', { className: 'muted' }, word('no_bases')) : null,
    answer.calls.length ? h('section', { className: 'card', style: 'margin-top:12px' }, h('h2', {}, word('calls')), h('div', { className: 'table' },
      h('table', {}, h('thead', {}, h('tr', {}, heads.map(name => h('th', { scope: 'col' }, word(name))))),
        h('tbody', {}, answer.calls.map(call => h('tr', {}, h('td', { className: 'number' }, at(call.at)), h('td', {}, names[call.knowledge_base] ?? word('deleted_base')),
          h('td', {}, call.service, call.connection ? h('small', {}, ` (${call.connection})`) : null), h('td', { className: 'outcome' }, badge(call)), h('td', { className: 'number' }, String(call.entries)),
          h('td', { className: 'number' }, String(call.milliseconds)), h('td', { className: 'number' }, String(call.tries)), h('td', { className: failed(call) ? '' : 'dim' }, [call.text, ...call.notes].filter(Boolean).join('; ')), answer.queries ? h('td', {}, call.query) : null))))))
      : h('p', { className: 'muted' }, word('no_calls')));
}

// ---- search
const figure = value => value === null || value === undefined ? '–' : Number(value).toFixed(3);
const passages = entries => entries.map((entry, i) => h('article', { className: 'card' },
  h('div', { className: 'row spread' }, h('strong', {}, `${i + 1}. ${entry.title}`),
    h('small', {}, `${word('score')} ${figure(entry.score)} · ${word('distance')} ${figure(entry.distance)}${entry.measure ? ` · ${entry.measure}` : ''}`)),
  h('p', { className: 'text' }, entry.text),
  h('details', {}, h('summary', { className: 'muted' }, word('metadata')), h('pre', {}, JSON.stringify(entry.metadata, null, 2)))));

function drawSearch(answer) {
  const result = h('div', { style: 'margin-top:12px' });
  const base = h('select', { 'aria-label': word('choose') }, answer.knowledge_bases.map(base => h('option', { value: base.uuid }, base.name)));
  const question = h('input', { type: 'search', placeholder: word('question'), 'aria-label': word('question') });
  const button = h('button', { className: 'main' }, word('ask'));
  const run = async event => {
    event.preventDefault(); button.disabled = true; result.replaceChildren(waiting(word('loading')));
    const found = await ask('/search', { knowledge_base: base.value, query: question.value }).catch(() => ({ error: word('no_rights') }));
    button.disabled = false;
    if (!found.ok) return result.replaceChildren(notice(found.error));
    if (found.reason) return result.replaceChildren(h('p', { className: 'muted' }, word('reason', found.milliseconds)), notice(found.reason));
    result.replaceChildren(h('p', { className: 'muted' }, found.entries.length ? word('found', found.entries.length, found.milliseconds) : word('nothing', found.milliseconds)), ...passages(found.entries));
  };
  show(answer.knowledge_bases.length ? [h('form', { className: 'search', onsubmit: run }, base, question, button), result] : h('p', { className: 'muted' }, word('no_bases')));
}

// ---- connections
function confirmed(text) {
  const dialog = document.getElementById('confirm'), [no, yes] = dialog.querySelectorAll('button');
  dialog.querySelector('p').textContent = text; no.textContent = word('cancel'); yes.textContent = word('delete');
  return new Promise(done => {
    const close = event => { dialog.close(); done(event.currentTarget === yes); };
    no.onclick = yes.onclick = close; dialog.oncancel = () => done(false); dialog.showModal();
  });
}
async function remove(name, revision, usedBy) {
  if (!await confirmed(usedBy.length ? word('sure_used', name, usedBy.join(', ')) : word('sure', name))) return;
  const answer = await ask('/connections/delete', { name, revision }).catch(() => ({ error: word('no_rights') }));
  draw(answer.ok ? '' : answer.error);
}
function drawConnections(answer, message) {
  const label = backend => local(FORMS[backend]?.label) || backend;
  show(message ? notice(message) : null,
    h('div', { className: 'row end' }, h('button', { className: 'main', onclick: () => edit({ settings: {}, name: '' }) }, word('add'))),
    answer.damaged.map(name => h('section', { className: 'card' }, notice(word('damaged', name)), h('button', { className: 'danger', onclick: () => remove(name, '', []) }, word('delete')))),
    !answer.connections.length && !answer.damaged.length ? h('p', { className: 'muted' }, word('no_connections')) : null,
    answer.connections.map(found => h('section', { className: 'card' }, h('h2', {}, found.name),
      h('p', {}, `${label(found.settings.backend)} · ${found.settings.api_base_url ?? ''}`),
      h('p', { className: 'muted' }, `${word(found.has_key ? 'key_set' : 'key_unset').split(/[;；。]/)[0]} · ${found.used_by.length ? `${word('used_by')}: ${found.used_by.join(', ')}` : word('unused')}`),
      h('div', { className: 'row' }, h('button', { onclick: () => edit(found, found) }, word('edit')),
        h('button', { onclick: () => edit({ ...found, name: word('copy_of', found.name), has_key: false }) }, word('duplicate')),
        h('button', { className: 'danger', onclick: () => remove(found.name, found.revision, found.used_by) }, word('delete'))))));
}
// Whom a key belongs to, as the plugin sees it: the service (and Jinba's route), scheme, host and port of the address.
function keyOwner(values) {
  const [route, address] = ['route', 'api_base_url'].map(name => values[name] ?? FORMS[values.backend].fields.find(field => field.name === name)?.default ?? '');
  let origin = String(address).trim().toLowerCase();
  try { origin = /^https?:\/\//.test(origin) ? new URL(origin).origin : origin.split('/')[0]; } catch { /* being typed */ }
  return [values.backend, route, origin].join(' ');
}
function edit(start, original) {
  let values = { backend: Object.keys(FORMS)[0], ...start.settings };
  const drafts = { [values.backend]: values }, owner = start.has_key ? keyOwner(values) : '';
  const name = h('input', { id: 'name', value: start.name, required: true, maxLength: 60 }), fields = h('div', {}), result = h('div', {});
  const backend = h('select', { id: 'backend', onchange: () => { values = drafts[backend.value] ??= { backend: backend.value }; drawFields(); } },
    Object.entries(FORMS).map(([tag, form]) => h('option', { value: tag, selected: tag === values.backend }, local(form.label))));
  const question = h('input', { id: 'question', type: 'search' });
  const keyNote = h('div', { className: 'bad', role: 'status' });
  const tellKey = () => {
    const box = document.getElementById('field-api_key'), moved = owner && owner !== keyOwner(values);
    box.placeholder = moved ? '' : word(owner ? 'key_set' : 'key_unset');
    keyNote.textContent = moved && !box.value ? word('key_again') : '';
  };
  const drawFields = () => { fields.replaceChildren(...FORMS[values.backend].fields.filter(field => shown(field)).flatMap(field => {
    const id = `field-${field.name}`, now = values[field.name] ?? field.default;
    if (field.type === 'boolean') return [h('label', { className: 'row' }, h('input', { id, type: 'checkbox', checked: now === true, onchange: event => { values[field.name] = event.target.checked; } }), local(field.label)), h('small', {}, local(field.description))];
    const set = event => { values[field.name] = event.target.value; if (field.type === 'select') drawFields(); else tellKey(); };
    const box = field.type === 'select'
      ? h('select', { id, onchange: set }, field.options.map(option => h('option', { value: option.name, selected: option.name === now }, local(option.label))))
      : h('input', { id, value: now ?? '', oninput: set, ...(field.type === 'secret' ? { type: 'password', autocomplete: 'off' } : {}) });
    return [h('label', { htmlFor: id }, local(field.label)), box, field.type === 'secret' ? keyNote : null, h('small', {}, local(field.description))].filter(Boolean);
  })); tellKey(); };
  const shown = field => !field.show_if || (values[field.show_if.field] ?? FORMS[values.backend].fields.find(f => f.name === field.show_if.field)?.default) === field.show_if.value;
  const body = () => ({ name: name.value, original: original?.name ?? '', revision: original?.revision ?? '', query: question.value,
    settings: Object.fromEntries([['backend', values.backend], ...FORMS[values.backend].fields.map(field => [field.name, values[field.name] ?? field.default])]) });
  const busy = async (endpoint, then) => {
    buttons.forEach(button => { button.disabled = true; }); result.replaceChildren(waiting(word(endpoint === '/test' ? 'testing' : 'loading')));
    const answer = await ask(endpoint, body()).catch(() => ({ error: word('no_rights') }));
    buttons.forEach(button => { button.disabled = false; });
    if (!answer.ok) { result.replaceChildren(notice(answer.error)); result.scrollIntoView({ block: 'nearest' }); return; }
    then(answer);
  };
  const test = () => busy('/test', answer => {
    result.replaceChildren(h('ul', { className: 'steps' }, answer.steps.map(step => h('li', { className: !step.ok ? 'bad' : step.warning ? 'dim' : 'good' }, `${!step.ok ? '✗' : step.warning ? '!' : '✓'} ${word(step.name)}: ${step.text}`))),
      h('p', { className: 'muted' }, word('took', answer.milliseconds)), ...passages(answer.entries));
    result.scrollIntoView({ block: 'nearest' });
  });
  const save = event => { event.preventDefault(); busy('/connections/save', () => draw('', word('saved'))); };
  const buttons = [h('button', { type: 'button', onclick: test }, word('test')), h('button', { className: 'main' }, word('save')), h('button', { type: 'button', onclick: () => draw() }, word('cancel'))];
  show(h('form', { className: 'card', onsubmit: save }, h('label', { htmlFor: 'name' }, word('name')), name, h('label', { htmlFor: 'backend' }, word('backend')), backend, fields,
    h('label', { htmlFor: 'question' }, word('test_question')), question, h('div', { className: 'row', style: 'margin-top:16px' }, buttons)), result);
  drawFields(); name.focus();
}

// ---- frame
function drawNav() {
  document.querySelector('h1').textContent = word('title'); document.documentElement.lang = language.replace('_', '-');
  nav.replaceChildren(...['overview', 'search', 'connections'].map(name => h('button', { role: 'tab', 'aria-selected': String(name === tab), onclick: () => { tab = name; draw(); } }, word(name))));
}
function draw(message, done) {
  drawNav();
  const failure = typeof message === 'string' ? message : '';
  if (tab === 'overview') load('/overview', {}, drawOverview);
  else if (tab === 'search') load('/overview', {}, drawSearch);
  else if (!takesConnections) show(h('p', { className: 'muted' }, word('only_all')));
  else load('/connections', {}, answer => { drawConnections(answer, failure); if (done) main.prepend(notice(done, 'good')); });
}
const speak = tag => { const name = tag.replace('-', '_'); language = WORDS[name] ? name : name.startsWith('zh') ? 'zh_Hans' : name.startsWith('ja') ? 'ja_JP' : 'en_US'; };
let ready = false;
langbot.onReady(context => { speak(context?.language ?? 'en_US'); ready = true; draw(); });
langbot.onLanguageChange(tag => { speak(tag?.language ?? tag); if (ready) draw(); });
