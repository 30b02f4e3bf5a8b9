// LangBot's page SDK as far as the page uses it. `turn` is the user's switch of language and theme.
const heard = [];
const DARK = { bg: '#0a0a0a', 'bg-card': '#171717', text: '#fafafa', 'text-muted': '#a1a1aa', border: '#27272a', accent: '#3b82f6' };
const LIGHT = { bg: '#ffffff', 'bg-card': '#f8fafc', text: '#0a0a0a', 'text-muted': '#71717a', border: '#e4e4e7', accent: '#2563eb' };
function dress(theme) {
  document.documentElement.classList.remove('light', 'dark');
  document.documentElement.classList.add(theme);
  for (const [name, value] of Object.entries(theme === 'dark' ? DARK : LIGHT)) document.documentElement.style.setProperty(`--langbot-${name}`, value);
}
function turn(language, theme) { dress(theme); heard.forEach(told => told(language)); }
const langbot = {
  onReady: told => setTimeout(() => {
    const [language, theme] = (location.hash.slice(1) || 'en-US,light').split(',');
    dress(theme);
    told({ language, theme });
  }),
  onLanguageChange: told => heard.push(told),
  onThemeChange: () => {},
  api: async (endpoint, body) => {
    const answer = await fetch('/api', { method: 'POST', body: JSON.stringify({ endpoint, body }) });
    if (!answer.ok) throw new Error('[object Object]');
    return answer.json();
  },
};
