import { MAX_DEAD } from '../tenants/overview-counts.ts';
import type { NavEntry } from './page.ts';
import { platformPath, tenantPath, type Visit } from './visit.ts';

/** Groups of pages, in the order of the navigation. The first has no title. */
const TENANT_PAGES: Readonly<Record<string, readonly NavEntry[]>> = {
  '': [{ label: 'Overview', icon: 'layout-dashboard', path: '', permit: 'tenant:read', hotkey: 'g o' }],
  Work: [
    {
      label: 'Deliveries',
      icon: 'inbox',
      path: '/deliveries',
      permit: 'tenant:read',
      hotkey: 'g d',
      count: { of: 'dead_deliveries', words: 'dead in 24 hours', max: MAX_DEAD },
    },
    {
      label: 'Sessions',
      icon: 'message-square',
      path: '/sessions',
      permit: 'tenant:read',
      hotkey: 'g s',
      count: { of: 'waiting_sessions', words: 'waiting for you' },
    },
    { label: 'Schedules', icon: 'calendar-clock', path: '/schedules', permit: 'tenant:read', hotkey: 'g t' },
  ],
  Agents: [
    {
      label: 'Agents',
      icon: 'bot',
      path: '/agents',
      permit: 'tenant:read',
      hotkey: 'g a',
      count: { of: 'stopped_agents', words: 'stopped' },
    },
    { label: 'Integrations', icon: 'plug', path: '/integrations', permit: 'tenant:integrations:read', hotkey: 'g i' },
    { label: 'Guardrails', icon: 'shield-alert', path: '/guardrails', permit: 'tenant:integrations:read', hotkey: 'g r' },
    { label: 'Skills and tools', icon: 'zap', path: '/skills', permit: 'tenant:read', hotkey: 'g f' },
    { label: 'Credentials', icon: 'link', path: '/credentials', permit: 'tenant:credentials:write', hotkey: 'g v' },
  ],
  Money: [{ label: 'Costs', icon: 'gauge', path: '/costs', permit: 'tenant:billing:read', hotkey: 'g c' }],
  Trust: [
    { label: 'Members', icon: 'users', path: '/members', permit: 'tenant:read', hotkey: 'g m' },
    { label: 'Access', icon: 'shield-check', path: '/access', permit: 'tenant:audit:read', hotkey: 'g x' },
    { label: 'API keys', icon: 'key-round', path: '/api-keys', permit: 'tenant:keys:write', hotkey: 'g k' },
    { label: 'Audit log', icon: 'scroll-text', path: '/audit', permit: 'tenant:audit:read', hotkey: 'g l' },
    { label: 'Events', icon: 'list-tree', path: '/events', permit: 'tenant:audit:read', hotkey: 'g e' },
  ],
};

const PLATFORM_PAGES: readonly NavEntry[] = [
  { label: 'Health', icon: 'activity', path: platformPath(), permit: 'platform', hotkey: 'g h' },
  { label: 'Projections', icon: 'database', path: platformPath('/projections'), permit: 'platform', hotkey: 'g p' },
  { label: 'Tenants', icon: 'building-2', path: platformPath('/tenants'), permit: 'platform', hotkey: 'g n' },
  { label: 'Users', icon: 'user-round', path: platformPath('/users'), permit: 'platform', hotkey: 'g u' },
  { label: 'Accounts', icon: 'key-round', path: platformPath('/allowed-accounts'), permit: 'platform', hotkey: 'g w' },
  { label: 'Models', icon: 'cpu', path: platformPath('/models'), permit: 'platform', hotkey: 'g y' },
  { label: 'Plans', icon: 'layers', path: platformPath('/plans'), permit: 'platform', hotkey: 'g q' },
  { label: 'Platform audit', icon: 'scroll-text', path: platformPath('/audit-logs'), permit: 'platform', hotkey: 'g j' },
];

/**
 * Returns the permissions that are assumed for the navigation while it is unknown who the visitor is: those of every
 * member of the tenant in the URL, or those that the pages of the platform need.
 */
export const mayAtPath = ({ path, params }: Pick<Visit, 'path' | 'params'>): Visit['may'] => {
  if (params.tenant_id !== undefined) return (permission) => permission === 'tenant:read';
  return (permission) => permission === 'platform' && path.startsWith(platformPath());
};

type FoundPage = Omit<NavEntry, 'hotkey'>;

/** Pages that the navigation omits. The search finds them. */
const OTHER_PAGES: readonly FoundPage[] = [
  { label: 'First steps', icon: 'square-terminal', path: '/start', permit: 'tenant:integrations:write' },
  { label: 'Delivery problems', icon: 'circle-alert', path: '/deliveries/problems', permit: 'tenant:integrations:read' },
  { label: 'Audit heads and export', icon: 'fingerprint', path: '/audit/heads', permit: 'tenant:audit:read' },
];
const OTHER_PAGES_ANYWHERE: readonly FoundPage[] = [
  { label: 'Your account and browsers', icon: 'user', path: '/console/me', permit: 'any' },
  { label: 'Time zone', icon: 'clock', path: '/console/zone', permit: 'any' },
  { label: 'Drift of the projections', icon: 'database', path: platformPath('/drift'), permit: 'platform' },
];

/** The pages that a visitor may open: those in the navigation, and others. */
export type Navigation = {
  /** The pages of the tenant. */
  readonly groups: readonly { readonly title: string; readonly entries: readonly NavEntry[] }[];
  readonly platform: readonly NavEntry[];
  readonly others: readonly FoundPage[];
};

/** Returns the pages that the visitor may open. */
export const navigationOf = (visit: Visit): Navigation => {
  const { tenant_id } = visit.params;
  const inTenant = <Entry extends FoundPage>(entries: readonly Entry[]) =>
    tenant_id === undefined ? [] : entries.map((entry) => ({ ...entry, path: tenantPath(tenant_id, entry.path) }));
  const allowed = <Entry extends FoundPage>(entries: readonly Entry[]) => entries.filter(({ permit }) => visit.may(permit));
  return {
    groups: Object.entries(TENANT_PAGES).map(([title, entries]) => ({ title, entries: allowed(inTenant(entries)) })),
    platform: allowed(PLATFORM_PAGES),
    others: allowed([...inTenant(OTHER_PAGES), ...OTHER_PAGES_ANYWHERE]),
  };
};

/** Returns the pages of the navigation, those of the tenant first. */
export const entriesOf = (visit: Visit): readonly NavEntry[] => {
  const { groups, platform } = navigationOf(visit);
  return [...groups.flatMap(({ entries }) => entries), ...platform];
};

/** Returns the label of the navigation entry to which a page belongs, as far as its path shows this. */
export const entryAt = (visit: Visit): string => {
  const above = entriesOf({ ...visit, may: () => true }).filter(({ path }) => visit.path === path || visit.path.startsWith(`${path}/`));
  return above.toSorted((one, other) => other.path.length - one.path.length)[0]?.label ?? '';
};
