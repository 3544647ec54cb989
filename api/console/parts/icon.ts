import { assetUrl, element, type Node } from './tags.ts';

/** The icons of the icon set Lucide that the console uses, by name. */
export const ICONS = [
  'activity', 'arrow-down', 'arrow-down-left', 'arrow-left', 'arrow-right', 'arrow-up', 'ban', 'book-open', 'bot', 'building-2', 'calendar-clock', 'check', 'check-check', 'chevron-down',
  'chevron-right', 'chevrons-up-down', 'circle', 'circle-alert', 'circle-check', 'circle-dashed', 'circle-dot', 'circle-pause',
  'circle-x', 'clock', 'code-xml', 'copy', 'cpu', 'database', 'download', 'ellipsis', 'file-clock', 'fingerprint', 'gauge', 'git-commit-horizontal',
  'history', 'inbox', 'info', 'key-round', 'keyboard', 'layers', 'layout-dashboard', 'link', 'list-tree', 'log-out', 'menu', 'message-square', 'moon',
  'pause', 'play', 'plug', 'plus', 'radio', 'refresh-cw', 'rotate-ccw', 'scroll-text', 'search', 'send', 'settings', 'shield-alert',
  'shield-check', 'shield-x', 'skull', 'square-terminal', 'star', 'sun', 'sun-moon', 'timer', 'trash-2', 'triangle-alert', 'user',
  'user-round', 'users', 'webhook', 'x', 'zap',
] as const; // biome-ignore format: a list of names
export type IconName = (typeof ICONS)[number];

const icons = new Map<IconName, Node>();

const drawn = (name: IconName): Node =>
  element('svg', { class: 'icon', 'aria-hidden': 'true' }, element('use', { href: assetUrl(`icons.svg#${name}`) }));

/** Renders a decorative icon. Screen readers skip it, because the text beside it has the same meaning. */
export const icon = (name: IconName): Node => {
  const node = icons.get(name) ?? drawn(name);
  icons.set(name, node);
  return node;
};
