// ---- the datasets that a key may read, to tick instead of typing an id
let chooser = null;
const dialog = document.getElementById('chooser');
const typed = () => String(form.values.dataset_id ?? '').split(/[\s,;，；、]+/).filter(Boolean);

async function choose() {
  chooser = { answer: null, ticked: new Set(typed()), sought: '', began: Date.now() };
  drawChooser();
  dialog.showModal();
  const held = chooser, answer = await ask('/datasets', bodyOf());
  if (chooser !== held) return;
  chooser.answer = answer;
  form.wrong = answer.ok ? [] : answer.fields;
  drawChooser();
  document.getElementById('sought')?.focus();
}
function close() {
  chooser = null;
  dialog.close(); drawFields();
  (firstWrong() ?? document.getElementById('choose'))?.focus();
}
function accept() {
  const ids = chooser.answer.datasets.map(one => one.id), others = typed().filter(id => !ids.some(one => id.includes(one)) && chooser.ticked.has(id));
  form.values.dataset_id = [...others, ...ids.filter(id => chooser.ticked.has(id))].join(', ');
  form.wrong = [];
  close();
}
function dataset(one) {
  const id = `dataset-${one.id}`, ticked = chooser.ticked.has(one.id), group = chooser.answer.datasets.find(other => other.id !== one.id && chooser.ticked.has(other.id))?.group;
  const apart = !ticked && group !== undefined && group !== one.group, off = !ticked && (apart || !one.searchable);
  const turn = event => { chooser.ticked[event.target.checked ? 'add' : 'delete'](one.id); again('offered'); again('chosen'); };
  return h('li', { className: off ? 'off' : '' }, h('label', { className: 'row', htmlFor: id }, h('input', { type: 'checkbox', id, checked: ticked, disabled: off, onchange: turn, 'aria-describedby': `${id}-about` }), h('strong', {}, one.name || one.id)),
    h('div', { id: `${id}-about`, className: 'about' }, one.line ? h('div', { className: 'muted' }, one.line) : null,
      one.note ? h('div', { className: one.searchable ? 'dim' : 'bad' }, word(one.note)) : null, apart ? h('div', { className: 'dim' }, word('other_group')) : null, h('small', {}, one.id)));
}
function offered() {
  const sought = chooser.sought.trim().toLowerCase(), all = chooser.answer.datasets, fit = all.filter(one => `${one.name} ${one.id} ${one.line}`.toLowerCase().includes(sought));
  if (!all.length) return h('p', { className: 'muted' }, word('no_datasets'));
  return fit.length ? h('ul', { className: 'datasets' }, fit.map(dataset)) : h('p', { className: 'muted' }, word('none_fit'));
}
function drawChooser() {
  const { answer } = chooser;
  redraw(dialog, h('h2', { id: 'chooser-title' }, word('choose_dataset_title')),
    !answer ? waiting([word('loading'), ' ', clock(chooser)]) : !answer.ok ? failure(answer, 'chooser', relabelled)
      : [h('input', { id: 'sought', type: 'search', value: chooser.sought, placeholder: word('seek'), 'aria-label': word('seek'), oninput: event => { chooser.sought = event.target.value; again('offered'); },
        onkeydown: event => { if (event.key === 'Enter') event.preventDefault(); } }),
      warnings(answer.notes), part('offered', offered)],
    h('div', { className: 'row end above' }, answer?.ok ? part('chosen', () => h('small', {}, counted('ticked', chooser.ticked.size))) : null, button('chooser-cancel', word('cancel'), close),
      answer?.ok ? button('chooser-take', word('take'), accept, { kind: 'main' }) : null));
  dialog.oncancel = event => { event.preventDefault(); close(); };
}
