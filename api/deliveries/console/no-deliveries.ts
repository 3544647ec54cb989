import { emptyState } from '../../console/parts/empty-state.ts';
import { tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';

const { a, code } = tags;

/**
 * Renders what replaces an empty list of deliveries. Visitors who may only see the deliveries of some agents do not
 * learn whether there are others.
 */
export const noDeliveries = (visit: Visit) =>
  visit.may('tenant:integrations:read')
    ? emptyState(
        { icon: 'inbox', title: 'No deliveries yet', why: 'Webhook calls, skill calls and cron messages appear here as they arrive.' },
        code(null, 'annals trigger github --url <address> --secret <secret>'),
        a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/integrations') }, 'To the integrations'),
      )
    : emptyState(
        {
          icon: 'inbox',
          title: 'None that you may see',
          why: 'You see the deliveries of agents whose chats you may read. An OWNER or ADMIN of the tenant can give you this access.',
        },
        a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'To the agents'),
      );
