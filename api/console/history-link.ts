import { icon } from './parts/icon.ts';
import { type Child, tags } from './parts/tags.ts';
import { tenantPath, type Visit } from './visit.ts';

const { a, span } = tags;

/** Links to the audit entries about a resource. Null if the visitor may not read the audit log. */
export const historyLink = (visit: Pick<Visit, 'may' | 'params'>, resource_id: string, look = ''): Child =>
  visit.may('tenant:audit:read')
    ? a(
        {
          class: `button ${look}`.trim(),
          href: tenantPath(visit.params.tenant_id!, `/audit?about=${resource_id}`),
          'data-history': resource_id,
        },
        icon('history'),
        span(null, 'History'),
      )
    : null;
