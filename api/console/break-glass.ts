import { type Frame, unknownPage } from './answers.ts';
import { emptyState } from './parts/empty-state.ts';
import { tags } from './parts/tags.ts';
import { timeOfDay } from './parts/time.ts';
import { platformPath, type Visit } from './visit.ts';

const { a, h1 } = tags;

/**
 * Returns the page that replaces all pages of a tenant after the visitor's break-glass access to it has ended. Null if
 * the visitor had no such access, or it is still open.
 */
const endedAccess = ({ breakGlass, zone }: Visit): Frame | null => {
  if (!breakGlass || breakGlass.isOpen) return null;
  const { name, until, tenant_id } = breakGlass;
  return {
    title: 'Access ended',
    nav: '',
    trail: [],
    content: [
      h1({ class: 'hidden' }, 'Access ended'),
      emptyState(
        {
          icon: 'shield-alert',
          title: `Your break-glass access to ${name} ended at ${timeOfDay(until, zone)}`,
          why: 'The pages of the tenant look like unknown pages until you open it again, with a reason.',
        },
        a({ class: 'button', href: platformPath(`/tenants/${tenant_id}`) }, 'To the tenant'),
      ),
    ],
  };
};

/** Returns the page that replaces all pages of a tenant while it is suspended; null if it is not. */
const suspendedTenant = ({ tenant }: Visit): Frame | null =>
  tenant?.is_suspended
    ? {
        title: 'Suspended',
        nav: '',
        trail: [],
        content: [
          h1({ class: 'hidden' }, 'Suspended'),
          emptyState({
            icon: 'ban',
            title: `${tenant.name} is suspended`,
            why: 'An operator of the platform has suspended it. Nothing of it is lost: ask them when it is resumed.',
          }),
        ],
      }
    : null;

/**
 * Returns the page for a visitor who may not see what was requested. It says why if the visitor could see it before:
 * their break-glass access has ended, or the tenant is suspended. Otherwise, it is the page of an unknown path.
 */
export const refusedPage = (visit: Visit): Frame => endedAccess(visit) ?? suspendedTenant(visit) ?? unknownPage;
