import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { ago, timeOfDay } from './parts/time.ts';
import { platformPath, type Visit } from './visit.ts';

const { a, div, span } = tags;

/**
 * Renders the bar on every page of a tenant that a super-admin reads by break-glass (recorded access for a limited
 * time). Null on other pages.
 */
export const breakGlassStrip = ({ breakGlass, zone }: Visit): Child =>
  breakGlass?.isOpen
    ? div(
        { class: 'note glass-strip', role: 'status', 'data-break-glass': breakGlass.until },
        icon('shield-alert'),
        span(null, `You are in this tenant under break-glass until ${timeOfDay(breakGlass.until, zone)}; the tenant sees this`),
        span({ class: 'quiet' }, 'Ends ', ago(breakGlass.until)),
        a({ class: 'button small', href: platformPath(`/tenants/${breakGlass.tenant_id}`) }, 'Leave'),
      )
    : null;
