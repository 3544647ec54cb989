import type { NavEntry } from './page.ts';
import { tenantPath, type Visit } from './visit.ts';

const TENANT_PAGES: readonly NavEntry[] = [
  { label: 'Overview', icon: 'layout-dashboard', path: '', permit: 'tenant:read', hotkey: 'g o' },
  { label: 'Deliveries', icon: 'inbox', path: '/deliveries', permit: 'tenant:read', hotkey: 'g d' },
  { label: 'Integrations', icon: 'plug', path: '/integrations', permit: 'tenant:integrations:read', hotkey: 'g i' },
  { label: 'Agents', icon: 'bot', path: '/agents', permit: 'tenant:read', hotkey: 'g a' },
  { label: 'Costs', icon: 'gauge', path: '/costs', permit: 'tenant:billing:read', hotkey: 'g c' },
  { label: 'Sessions', icon: 'message-square', path: '/sessions', permit: 'tenant:audit:read', hotkey: 'g s' },
  { label: 'Access', icon: 'shield-check', path: '/access', permit: 'tenant:audit:read' },
  { label: 'Members', icon: 'users', path: '/members', permit: 'tenant:read' },
  { label: 'Audit log', icon: 'scroll-text', path: '/audit', permit: 'tenant:audit:read', hotkey: 'g l' },
  { label: 'Events', icon: 'list-tree', path: '/events', permit: 'tenant:audit:read', hotkey: 'g e' },
  { label: 'First steps', icon: 'zap', path: '/start', permit: 'tenant:integrations:write', hotkey: 'g f' },
  { label: 'API keys', icon: 'key-round', path: '/api-keys', permit: 'tenant:keys:write', hotkey: 'g k' },
];

const PLATFORM_PAGES: readonly NavEntry[] = [];

/** Returns the navigation entries that the visitor may open. */
export const navigationOf = (visit: Visit): { readonly tenant: readonly NavEntry[]; readonly platform: readonly NavEntry[] } => {
  const { tenant_id } = visit.params;
  const ofTenant = tenant_id === undefined ? [] : TENANT_PAGES.map((entry) => ({ ...entry, path: tenantPath(tenant_id, entry.path) }));
  const allowed = (entries: readonly NavEntry[]) => entries.filter(({ permit }) => visit.may(permit));
  return { tenant: allowed(ofTenant), platform: allowed(PLATFORM_PAGES) };
};
