import { createContext, type JSXNode, jsx, useContext } from 'hono/jsx';

/** The URL path below which the console's assets are served. It is different for each version of the assets. */
export const AssetBase = createContext('/console/assets');

/** The icons of the icon set Lucide that the console uses, by name. */
export const ICONS = [
  'activity', 'arrow-down-left', 'arrow-left', 'arrow-right', 'arrow-up', 'ban', 'bot', 'building-2', 'calendar-clock', 'check', 'check-check', 'chevron-down',
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

/** Renders a decorative icon. Screen readers skip it, because the text beside it has the same meaning. */
export const icon = (name: IconName): JSXNode => jsx(Icon, { name });
