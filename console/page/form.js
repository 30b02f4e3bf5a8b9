// ---- a connection's form: it is tested as often as wanted, and once more by saving
let form = null;

// Whom a key belongs to, as the plugin sees it: the service (and Jinba's route), scheme, host and port of the address.
function keyOwner(values) {
  const [route, address] = ['route', 'api_base_url'].map(name => values[name] ?? FORMS[values.backend].fields.find(field => field.name === name)?.default ?? '');
  let origin = String(address).trim().toLowerCase();
  try { origin = /^https?:\/\//.test(origin) ? new URL(origin).origin : origin.split('/')[0]; } catch { /* being typed */ }
  return [values.backend, route, origin].join(' ');
}
const fieldsOf = backend => FORMS[backend].fields;
const valueOf = field => form.values[field.name] ?? field.default;
const inUse = field => !field.show_if || valueOf(fieldsOf(form.values.backend).find(other => other.name === field.show_if.field)) === field.show_if.value;
const settingsOf = () => Object.fromEntries([['backend', form.values.backend], ...fieldsOf(form.values.backend).map(field => [field.name, valueOf(field)])]);
const bodyOf = () => ({ name: form.name, original: form.original?.name ?? '', revision: form.original?.revision ?? '', query: form.question, settings: settingsOf() });
const snapshot = () => JSON.stringify([form.name, form.values]);
// The plugin's texts name settings as files do; here they stand under labels.
const relabelled = text => fieldsOf(form.values.backend).reduce((whole, field) => whole.replace(new RegExp(`\\b${field.name}\\b`, 'g'), `“${local(field.label)}”`), text);

function edit(start, original = null, draft = {}) {
  const values = { ...start.settings, backend: start.settings.backend in FORMS ? start.settings.backend : Object.keys(FORMS)[0] };
  form = { original, name: start.name, values, drafts: { [values.backend]: values }, owner: start.has_key ? keyOwner(values) : '', question: '', run: null, wrong: [] };
  form.clean = snapshot();
  Object.assign(form, draft);
  form.drafts[form.values.backend] = form.values;
  tab = 'connections';
  draw().then(() => document.getElementById('name').focus());
}
async function leave(message) {
  if (!message && snapshot() !== form.clean && !await confirmed(word('unsaved'), word('discard'))) return;
  if (form.run && !form.run.answer) form.run.stop();
  const back = form.original ? `c-${form.name}-edit` : 'add';
  form = null; told = message ? { good: message } : null;
  keepDraft();
  await draw();
  (document.getElementById(back) ?? panel).focus();
}

function keyNote() {
  const box = document.getElementById('field-api_key'), moved = form.owner && form.owner !== keyOwner(form.values);
  if (!box) return;
  box.placeholder = word(moved || form.resumed && !form.owner ? 'key_enter' : form.owner ? 'key_set' : 'key_unset');
  document.getElementById('key-note').textContent = moved && !box.value ? word('key_again') : '';
}
const drawFields = () => { again('fields'); keyNote(); };
const firstWrong = () => form.wrong.map(name => document.getElementById(name === 'name' ? 'name' : `field-${name}`)).find(Boolean);
function formField(field) {
  const id = `field-${field.name}`, now = valueOf(field), wrong = form.wrong.includes(field.name), about = `${id}-about`;
  const set = value => { form.values[field.name] = value; if (wrong) form.wrong = form.wrong.filter(name => name !== field.name); };
  const aria = { 'aria-describedby': about, 'aria-invalid': wrong ? 'true' : null };
  if (field.type === 'boolean') {
    return h('div', { className: 'field' }, h('label', { className: 'row' }, h('input', { id, type: 'checkbox', checked: now === true, ...aria, onchange: event => set(event.target.checked) }), local(field.label)), h('small', { id: about }, local(field.description)));
  }
  const box = field.type === 'select'
    ? h('select', { id, ...aria, onchange: event => { set(event.target.value); drawFields(); } }, field.options.map(one => option(one.name, local(one.label), now)))
    : h('input', { id, value: now ?? '', ...aria, oninput: event => { set(event.target.value); keyNote(); }, ...(field.type === 'secret' ? { type: 'password', autocomplete: 'off' } : {}) });
  const chooses = field.name === 'dataset_id' && FORMS[form.values.backend].lists;
  return labelled(id, local(field.label), chooses ? h('div', { className: 'row beside' }, box, button('choose', word('choose_dataset'), choose)) : box,
    field.type === 'secret' ? h('div', { id: 'key-note', className: 'bad', role: 'status' }) : null, h('small', { id: about }, local(field.description)));
}

const MARKS = { ok: ['✓', 'good'], warning: ['!', 'dim'], failed: ['✗', 'bad'] };
const steps = (found, id) => h('ul', { className: 'steps' }, found.map((step, index) => h('li', {}, h('span', { className: MARKS[step.state][1], 'aria-label': word(step.state === 'ok' ? 'done' : step.state) }, `${MARKS[step.state][0]} ${word(step.name)}`),
  step.state === 'failed' ? failure({ kind: step.kind, error: step.text }, `${id}-${index}`, form ? relabelled : undefined) : h('span', {}, ` ${word(step.text)}`))));
function outcome() {
  const { run } = form;
  if (!run) return null;
  const { answer } = run, done = answer?.steps ?? run.steps;
  return h('section', { className: 'card', id: 'test-outcome' }, h('h2', {}, word('test')), steps(done, 'step'),
    !answer ? running(run, word(done.length ? 'testing_next' : 'testing'), 'test')
      : !answer.ok ? failure(answer, 'test', relabelled) : [h('p', { className: 'muted' }, word('took', answer.milliseconds)), answer.saved === false ? saveAnyway() : null, passages(answer.entries)]);
}
const saveAnyway = () => h('div', { className: 'anyway' }, h('p', { className: 'bad' }, word('not_saved')), button('anyway', word('save_anyway'), () => save(true)));

async function start(endpoint, body) {
  if (form.run && !form.run.answer) return null;
  const held = form, done = watched(endpoint, body, () => again('outcome'));
  Object.assign(form, { run: done, wrong: [] });
  again('outcome'); drawFields();
  document.getElementById('test-outcome')?.scrollIntoView({ block: 'nearest' });
  const answer = await done.done;
  if (form !== held) return null;
  const refused = answer.ok ? answer.steps.find(step => step.state === 'failed') : answer;
  form.wrong = refused?.fields ?? [];
  again('outcome'); drawFields();
  const first = firstWrong();
  if (first) { first.focus(); first.scrollIntoView({ block: 'center' }); } else document.getElementById('test-outcome')?.scrollIntoView({ block: 'nearest' });
  return answer;
}
const test = () => start('/test', bodyOf());
async function save(anyway = false) {
  const users = form.original?.used_by ?? [];
  if (form.original && form.name.trim() !== form.original.name && users.length && !await confirmed(word('sure_rename', form.original.name, names(users)), word('rename'))) return;
  const answer = await start('/connections/save', { ...bodyOf(), anyway });
  if (answer?.ok && answer.saved) leave(word('saved'));
}

function drawForm() {
  const swap = event => { const tag = event.target.value; form.values = form.drafts[tag] ??= { backend: tag }; form.wrong = []; drawFields(); };
  const nameBox = h('input', { id: 'name', value: form.name, required: true, maxLength: 60, 'aria-invalid': form.wrong.includes('name') ? 'true' : null, oninput: event => { form.name = event.target.value; } });
  const backend = h('select', { id: 'backend', onchange: swap }, Object.entries(FORMS).map(([tag, found]) => option(tag, local(found.label), form.values.backend)));
  const question = h('input', { id: 'question', type: 'search', value: form.question, oninput: event => { form.question = event.target.value; },
    onkeydown: event => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); test(); } } });
  const drawn = h('div', { className: 'workbench' }, h('form', { className: 'card', onsubmit: event => { event.preventDefault(); save(); } },
    labelled('name', word('name'), nameBox), labelled('backend', word('backend'), backend), part('fields', () => fieldsOf(form.values.backend).filter(inUse).map(formField)),
    labelled('question', word('test_question'), question, h('small', {}, word('test_question_is'))),
    h('div', { className: 'row above' }, button('test', word('test'), test), h('button', { id: 'save', className: 'main' }, word('test_and_save')), button('cancel', word('cancel'), () => leave()))),
  part('outcome', outcome));
  queueMicrotask(keyNote);
  return drawn;
}
