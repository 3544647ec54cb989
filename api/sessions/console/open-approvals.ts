import { card } from '../../console/parts/facts.ts';
import { icon } from '../../console/parts/icon.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer } from '../../http/ask.ts';
import type { Approval } from './chat-forms.ts';

const { a, li, strong, ul } = tags;

/** Renders open approvals with links to their sessions. Returns null if there are none, or if they cannot be read. */
export const openApprovals = ({ params }: Visit, approvals: Answer<readonly Approval[]>): Child =>
  approvals.ok && approvals.value.length > 0
    ? card(
        'Waiting for a decision',
        ul(
          { class: 'lines' },
          ...approvals.value.map(({ id, session_id, action, created_at }) =>
            li(
              { 'data-kind': 'open-approval', 'data-id': id },
              a(
                { class: 'row-link', href: tenantPath(params.tenant_id!, `/sessions/${session_id}#m-${id}`) },
                icon('shield-check'),
                strong(null, action ?? 'An approval'),
              ),
              ago(created_at),
            ),
          ),
        ),
      )
    : null;
