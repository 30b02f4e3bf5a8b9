// ---- connections: the list, and their way to another LangBot
let connections = null, damaged = [], told = null, transfer = null;
const placeOf = ({ backend, api_base_url }) => `${local(FORMS[backend]?.label) || backend || '?'} · ${api_base_url ?? ''}`;
const names = users => users.map(user => user.name || user.uuid).join(', ');

async function readConnections() {
  const answer = await ask('/connections');
  if (answer.ok) ({ connections, damaged } = answer);
  return answer;
}
async function remove(name, revision, users) {
  if (!await confirmed(users.length ? word('sure_used', name, names(users)) : word('sure', name), word('delete'))) return;
  const answer = await ask('/connections/delete', { name, revision });
  told = answer.ok ? { good: word('deleted', name) } : { failure: answer };
  await draw();
  panel.focus();
}
function connectionCard(found) {
  const id = `c-${found.name}`;
  return h('section', { className: 'card' }, h('h2', {}, found.name),
    h('p', {}, placeOf(found.settings)),
    h('p', { className: 'muted' }, word(found.has_key ? 'has_key' : 'key_unset'), ' · ', found.used_by.length ? `${word('used_by')}: ${names(found.used_by)}` : word('unused')),
    found.former.length ? h('p', { className: 'dim' }, word('former', found.former.join(', '))) : null,
    h('div', { className: 'row' }, button(`${id}-edit`, word('edit'), () => edit(found, found), { 'aria-label': `${word('edit')}: ${found.name}` }),
      button(`${id}-copy`, word('duplicate'), () => edit({ ...found, name: word('copy_of', found.name), has_key: false, used_by: [] }), { 'aria-label': `${word('duplicate')}: ${found.name}` }),
      button(`${id}-delete`, word('delete'), () => remove(found.name, found.revision, found.used_by), { kind: 'danger', 'aria-label': `${word('delete')}: ${found.name}` })));
}
function drawConnections() {
  if (form) return drawForm();
  if (transfer) return drawTransfer();
  const first = told; told = null;
  return [first ? h('div', {}, first.good ? notice(first.good, 'good') : failure(first.failure, 'told')) : null,
    h('div', { className: 'row end above' }, connections.length ? button('export', word('export'), exportAll) : null, button('import', word('import'), () => { transfer = { text: '', found: null, problem: null }; draw(); }),
      button('add', word('add'), () => edit({ settings: {}, name: '' }), { kind: 'main' })),
    draftCard(overview?.draft),
    damaged.map(name => h('section', { className: 'card' }, notice(word('damaged', name)), button(`c-${name}-delete`, word('delete'), () => remove(name, '', []), { kind: 'danger' }))),
    !connections.length && !damaged.length ? h('p', { className: 'muted' }, word('no_connections')) : null, connections.map(connectionCard)];
}

async function exportAll() {
  const answer = await ask('/connections/export');
  transfer = answer.ok ? { exported: answer.text } : null;
  told = answer.ok ? null : { failure: answer };
  draw();
}
async function readTransfer(event) {
  event.preventDefault();
  const answer = await ask('/connections/read', { text: transfer.text });
  Object.assign(transfer, answer.ok ? { found: answer.connections.map(one => ({ ...one, key: '', taken: !one.problem, state: null })), problem: null } : { found: null, problem: answer });
  again('transfer');
}
// Each goes the way of the form: it is tested, and one that fails is saved only on a second wish.
async function take(one, anyway = false) {
  const settings = one.key ? { ...one.settings, api_key: one.key } : one.settings;
  one.run = watched('/connections/save', { name: one.name, original: one.exists ? one.name : '', revision: one.revision, settings, query: '', anyway }, () => again('transfer'));
  one.state = null;
  again('transfer');
  const answer = await one.run.done;
  one.run = null;
  one.state = answer.ok && answer.saved ? { saved: true } : answer.ok ? { steps: answer.steps } : { failure: answer };
  again('transfer');
}
async function takeAll() {
  if (transfer.found.some(one => one.run)) return;
  for (const one of transfer.found.filter(one => one.taken && !one.state?.saved)) await take(one);
}
function transferred(one, index) {
  const id = `t-${index}`, { state, run } = one;
  return h('section', { className: 'card' }, h('label', { className: 'row' }, h('input', { type: 'checkbox', id, checked: one.taken, disabled: Boolean(one.problem || state?.saved), onchange: event => { one.taken = event.target.checked; } }), h('strong', {}, one.name)),
    h('p', { className: 'muted' }, placeOf(one.settings)),
    one.problem ? failure(one.problem, id) : null, one.exists && !state?.saved ? h('p', { className: 'dim' }, word('replaces')) : null,
    one.problem || state?.saved ? null : labelled(`${id}-key`, word('key'), h('input', { id: `${id}-key`, type: 'password', autocomplete: 'off', value: one.key, placeholder: word(one.exists ? 'key_set' : 'key_unset'), oninput: event => { one.key = event.target.value; } })),
    run ? running(run, word('testing'), id) : null, state?.saved ? notice(word('saved'), 'good') : null, state?.failure ? failure(state.failure, id) : null,
    state?.steps ? [steps(state.steps, `${id}-steps`), button(`${id}-anyway`, word('save_anyway'), () => take(one, true))] : null);
}
function drawTransfer() {
  const back = h('div', { className: 'row above' }, button('back', word('back'), () => { transfer = null; draw(); }));
  if (transfer.exported) {
    return [back, h('section', { className: 'card' }, labelled('exported', word('export_is'), h('textarea', { id: 'exported', readOnly: true, rows: 16, value: transfer.exported })), copier('exported-copy', transfer.exported))];
  }
  return [back, h('form', { className: 'card', onsubmit: readTransfer }, labelled('imported', word('import_is'), h('textarea', { id: 'imported', rows: 10, value: transfer.text, oninput: event => { transfer.text = event.target.value; } })),
    h('button', { id: 'read', className: transfer.found ? '' : 'main' }, word('read'))),
  part('transfer', () => [transfer.problem ? failure(transfer.problem, 'transfer') : null, transfer.found?.map(transferred),
    transfer.found?.length ? h('div', { className: 'row above' }, button('take', word('import_ticked'), takeAll, { kind: 'main' })) : null])];
}
