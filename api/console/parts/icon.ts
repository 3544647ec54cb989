import { createContext, type JSXNode, jsx, useContext } from 'hono/jsx';

/** The address below which the assets of the console are served. It changes with their content. */
export const AssetBase = createContext('/console/assets');

/** The icons of the console, by their names in Lucide. */
export const ICONS = [
  'activity', 'arrow-down-left', 'arrow-left', 'arrow-right', 'arrow-up', 'ban', 'bot', 'building-2', 'check', 'check-check', 'chevron-down',
  'chevron-right', 'chevrons-up-down', 'circle', 'circle-alert', 'circle-check', 'circle-dashed', 'circle-dot', 'circle-pause',
  'circle-x', 'clock', 'code-xml', 'copy', 'cpu', 'database', 'download', 'file-clock', 'fingerprint', 'gauge', 'git-commit-horizontal',
  'history', 'inbox', 'info', 'key-round', 'layers', 'layout-dashboard', 'link', 'list-tree', 'log-out', 'menu', 'message-square', 'moon',
  'pause', 'play', 'plug', 'plus', 'radio', 'refresh-cw', 'rotate-ccw', 'scroll-text', 'search', 'send', 'settings', 'shield-alert',
  'shield-check', 'shield-x', 'skull', 'square-terminal', 'star', 'sun', 'sun-moon', 'timer', 'trash-2', 'triangle-alert', 'user',
  'user-round', 'users', 'webhook', 'x', 'zap',
] as const; // biome-ignore format: a list of names
export type IconName = (typeof ICONS)[number];

const Icon = ({ name }: { name: IconName }) =>
  jsx('svg', { class: 'icon', 'aria-hidden': 'true' }, jsx('use', { href: `${useContext(AssetBase)}/icons.svg#${name}` }));

/** A decorative icon. The text beside it says the same. */
export const icon = (name: IconName): JSXNode => jsx(Icon, { name });
