import { reasonPage, unknownPage } from './error-page.ts';
import type { Framed } from './frame.ts';
import { tags } from './parts/tags.ts';
import { timeOfDay } from './parts/time.ts';
import { platformPath, type Visit } from './visit.ts';

const { a } = tags;

/**
 * Returns the page that replaces all pages of a tenant after the visitor's break-glass access to it has ended. Null if
 * the visitor had no such access, or it is still open.
 */
const endedAccess = (visit: Visit): Framed | null => {
  const { breakGlass, zone } = visit;
  if (!breakGlass || breakGlass.isOpen) return null;
  const { name, until, tenant_id } = breakGlass;
  return reasonPage(
    visit,
    {
      icon: 'shield-alert',
      title: 'Access ended',
      heading: `Your break-glass access to ${name} ended at ${timeOfDay(until, zone)}`,
      why: 'The pages of the tenant look like unknown pages until you open it again, with a reason.',
    },
    a({ class: 'button', href: platformPath(`/tenants/${tenant_id}`) }, 'To the tenant'),
  );
};

/** Returns the page that replaces all pages of a tenant while it is suspended; null if it is not. */
const suspendedTenant = (visit: Visit): Framed | null =>
  visit.tenant?.is_suspended
    ? reasonPage(
        visit,
        {
          icon: 'ban',
          title: 'Suspended',
          heading: `${visit.tenant.name} is suspended`,
          why: 'An operator of the platform has suspended it. Nothing of it is lost: ask them when it is resumed.',
        },
        a({ class: 'button', href: '/console/me' }, 'To your account'),
      )
    : null;

/**
 * Returns the page for a visitor who may not see what was requested. It says why if the visitor could see it before:
 * their break-glass access has ended, or the tenant is suspended. Otherwise, it is the page of an unknown path.
 */
export const refusedPage = (visit: Visit): Framed => endedAccess(visit) ?? suspendedTenant(visit) ?? unknownPage(visit);
