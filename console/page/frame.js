// ---- the frame: tabs, languages
const nav = document.querySelector('nav');
const TABS = { overview: drawOverview, search: drawSearch, connections: drawConnections };
let tab = 'overview', takesConnections = true, ready = false;

function drawNav() {
  document.querySelector('h1').textContent = word('title');
  document.documentElement.lang = locale();
  const names = Object.keys(TABS), turn = (name, event) => {
    const to = { ArrowRight: names[(names.indexOf(name) + 1) % names.length], ArrowLeft: names.at(names.indexOf(name) - 1), Home: names[0], End: names.at(-1) }[event.key];
    if (to) { event.preventDefault(); open(to); document.getElementById(`tab-${to}`).focus(); }
  };
  redraw(nav, names.map(name => h('button', { role: 'tab', id: `tab-${name}`, type: 'button', 'aria-selected': String(name === tab), 'aria-controls': 'panel', tabIndex: name === tab ? 0 : -1,
    onclick: () => open(name), onkeydown: event => turn(name, event) }, word(name))));
  panel.setAttribute('aria-labelledby', `tab-${tab}`);
}
// Read what the tab shows; what is being typed stays, since it stands in the page's own state.
async function read() {
  if (tab === 'overview') return readOverview();
  if (tab === 'connections') return takesConnections && !form && !transfer ? readConnections() : { ok: true };
  const [first, second] = await Promise.all([readOverview(), takesConnections ? readConnections() : { ok: true }]);
  return first.ok ? second : first;
}
const content = () => tab === 'connections' && !takesConnections ? h('p', { className: 'muted' }, word('only_all')) : TABS[tab]();
async function draw() {
  const here = tab;
  drawNav();
  if (!panel.firstChild) panel.replaceChildren(waiting(word('loading')));
  const answer = await read();
  if (tab !== here) return;
  redraw(panel, answer.ok ? content() : [failure(answer, 'failed'), button('again', word('again'), draw)]);
}
function open(name) {
  tab = name;
  panel.replaceChildren();
  draw();
}
// The same page in another language: nothing is read anew, nothing typed is lost.
function speak(tag) {
  const name = String(tag ?? '').replace('-', '_');
  language = name in WORDS ? name : name.startsWith('zh') ? 'zh_Hans' : name.startsWith('ja') ? 'ja_JP' : 'en_US';
  if (!ready) return;
  drawNav();
  if (overview && panel.firstChild) redraw(panel, content());
  if (chooser) drawChooser();
}
langbot.onReady(async context => {
  speak(context?.language);
  ready = true;
  await draw();
  if (overview && justLeft(overview.draft)) resume(overview.draft);
});
langbot.onLanguageChange(tag => speak(tag?.language ?? tag));
