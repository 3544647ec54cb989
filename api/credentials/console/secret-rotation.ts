import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { counted } from '../../console/parts/count-text.ts';
import { card } from '../../console/parts/facts.ts';
import { type Outcomes, sumOf } from '../../console/parts/outcome-counts.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago, between, duration } from '../../console/parts/time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { p, div, span, progress, strong } = tags;

export type Integration = ReplyOf<Rows['getWebhookIntegration']>;

/** How many deliveries were signed with the current and with the previous secret since the last rotation. */
export type Evidence = { readonly current: number; readonly previous: number };

/** Returns the number of deliveries for each secret, from a summary that is grouped by `matched_secret`. */
export const evidenceOf = (groups: readonly { readonly key: string | null; readonly outcomes: Outcomes }[]): Evidence => {
  const countOf = (secret: string): number =>
    sumOf(groups.find(({ key }) => key === secret)?.outcomes ?? { accepted: 0, blocked: 0, rejected: 0, dead: 0 });
  return { current: countOf('current'), previous: countOf('previous') };
};

/** Returns the time at which the previous secret was last used since the rotation; null if it was not used. */
const lastUse = ({ secret_rotated_at, last_delivery_on_previous_secret_at: used }: Integration): string | null =>
  used !== null && secret_rotated_at !== null && used >= secret_rotated_at ? used : null;

const overlap = ({ secret_rotated_at, previous_secret_valid_until }: Integration, now: string) => {
  const whole = between(secret_rotated_at!, previous_secret_valid_until!);
  const left = Math.max(0, between(now, previous_secret_valid_until!));
  return div(
    { class: 'overlap' },
    progress({ max: whole, value: whole - left, 'aria-label': 'How much of the overlap has passed' }),
    p({ class: 'quiet' }, left > 0 ? `Both secrets are accepted for ${duration(left)} more.` : 'The overlap has ended.'),
  );
};

const sentences = (integration: Integration, { current, previous }: Evidence) => {
  const used = lastUse(integration);
  const old =
    used === null
      ? p({ 'data-evidence': 'unused' }, 'The old secret was not used since the rotation.')
      : p(
          { 'data-evidence': 'used' },
          'The old secret was last used ',
          ago(used),
          `: ${counted(previous, 'delivery')} since the rotation.`,
        );
  return [old, p(null, strong(null, counted(current, 'delivery')), ' since the rotation on the new one.')];
};

/**
 * Renders the secret of an integration. After a rotation, it shows how often the previous secret is still used. The
 * main action is to drop the previous secret, but only if it is no longer used.
 */
export const secretCard = (visit: Visit, integration: Integration, evidence: Evidence | null, now: string) => {
  const { rows, params } = visit;
  const target = { tenant_id: params.tenant_id!, id: integration.id };
  const { secret_rotated_at, previous_secret_valid_until } = integration;
  const isOverlapping = secret_rotated_at !== null && previous_secret_valid_until !== null && previous_secret_valid_until > now;
  const isUnused = lastUse(integration) === null;
  const drop = actionButton(visit, rows.dropPreviousWebhookSecret, target, 'Drop the old secret', {
    look: isUnused ? 'primary' : 'danger',
    returnTo: visit.path,
    confirm: isUnused
      ? 'No delivery used it since the rotation. Deliveries that are signed with it are rejected from now on.'
      : 'Deliveries still use it. They are rejected from now on, until their sender has the new secret.',
  });
  const rotate = formLink(visit, rows.rotateWebhookSecret, target, 'Replace the secret', { icon: 'rotate-ccw' });
  return card(
    'Secret',
    p(
      null,
      'The secret ends in ',
      span({ class: 'mono' }, integration.secret_hint),
      '. ',
      secret_rotated_at === null ? 'It was never replaced.' : span(null, 'It was replaced ', ago(secret_rotated_at), '.'),
    ),
    ...(isOverlapping && evidence ? [...sentences(integration, evidence), overlap(integration, now)] : []),
    div({ class: 'actions' }, isOverlapping ? drop : null, rotate),
  );
};
