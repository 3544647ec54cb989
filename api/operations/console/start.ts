import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { runnerCommand } from '../../console/forms/runner-command.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { setupSteps } from '../../console/parts/setup-steps.ts';
import { copyButton } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, between } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { canSendSample, providerLabel } from '../../integrations/provider-setup.ts';
import { type Progress, readProgress } from './first-steps.ts';

const { ol, li, div, dl, dt, dd, h2, p, a, code, pre, span, strong, details, summary } = tags;

type Integration = ReplyOf<Rows['listWebhookIntegrations']>[number];
type Delivery = ReplyOf<Rows['getDelivery']>;

type Step = {
  readonly name: string;
  readonly title: string;
  readonly isDone: boolean;
  readonly content: Child;
  readonly hasNews?: boolean;
};

const agentStep = (visit: Visit, { agent }: Progress): Step => {
  const { tenant_id } = visit.params;
  const create = formLink(visit, visit.rows.createAgent, { tenant_id: tenant_id! }, 'Create an agent', {
    look: 'primary',
    icon: 'plus',
    next: visit.path,
    isFirst: true,
  });
  const content = agent
    ? p(null, strong(null, agent.name), ' is the agent. ', a({ href: tenantPath(tenant_id!, `/agents/${agent.id}`) }, 'Open it'))
    : div({ class: 'stack' }, p(null, 'An agent is what gets the deliveries: a program of yours, with a name here.'), create);
  return { name: 'agent', title: 'Agent', isDone: agent !== null, content };
};

const pausedNote = (visit: Visit, { id }: Integration): Child =>
  div(
    { class: 'stack' },
    p(null, badge('paused'), ' Its deliveries are blocked until it is resumed.'),
    actionButton(visit, visit.rows.updateWebhookIntegration, { tenant_id: visit.params.tenant_id!, id }, 'Resume', {
      ...{ icon: 'play', returnTo: visit.path, body: { is_paused: 'false' } },
    }),
  );

const integrationStep = (visit: Visit, { agent, integration }: Progress): Step => {
  const address = integration ? `${visit.origin}/hooks/inbound/${integration.id}` : '';
  const params = { tenant_id: visit.params.tenant_id!, agent_id: agent?.id ?? '', provider: 'github', label: 'First integration' };
  const connect = formLink(visit, visit.rows.connectWebhookIntegration, params, 'Connect a sender', {
    look: 'primary',
    icon: 'plug',
    next: visit.path,
    isFirst: true,
  });
  // Without a provider, samples go to an address of the agent to which programs of the tenant can post later.
  const without = actionButton(visit, visit.rows.connectWebhookIntegration, { tenant_id: params.tenant_id }, 'Go on without a provider', {
    body: { agent_id: params.agent_id, provider: 'custom_hmac', label: 'Own programs' },
    next: visit.path,
  });
  const content = integration
    ? div(
        { class: 'stack' },
        p(null, strong(null, integration.label), ` expects ${providerLabel(integration.provider)} at this address:`),
        div({ class: 'copyable' }, code(null, address), copyButton(address, 'the address')),
        details({ class: 'setup' }, summary({ class: 'button small' }, 'Where to paste it'), setupSteps(integration.provider)),
        integration.is_paused ? pausedNote(visit, integration) : null,
      )
    : div(
        { class: 'stack' },
        p(null, 'An integration is the address to which GitHub, or another sender, posts. A sample needs no sender.'),
        div({ class: 'actions' }, connect, without),
      );
  return { name: 'integration', title: 'Integration', isDone: integration !== null, content };
};

/** The command for a runner whose key was shown before. The reader puts the key into it. */
const earlierCommand = (visit: Visit, { agent, hasKey }: Progress): Child => {
  if (!hasKey || !agent) return null;
  const command = runnerCommand(visit.origin, agent.slug, '<runner key>');
  return div(
    { class: 'stack', 'data-earlier-key': '' },
    p(null, 'The key was shown once. If you have it, put it into this command. If it is lost, make a new one.'),
    div({ class: 'copyable' }, pre(null, command), copyButton(command, 'the command')),
  );
};

const runnerStep = (visit: Visit, progress: Progress): Step => {
  const { agent, presence, delivery, hasKey, onAgent } = progress;
  const isConnected = presence?.connected_since !== null && presence !== null;
  const params = { tenant_id: visit.params.tenant_id!, agent_id: agent?.id ?? '', name: 'First runner' };
  const key = formLink(visit, visit.rows.createRunnerKey, params, hasKey ? 'Make a new key' : 'Make a key and a command', {
    look: 'primary',
    icon: 'square-terminal',
    next: visit.path,
    isFirst: true,
    onAgent,
  });
  const content = isConnected
    ? p(null, badge('connected'), ' ', ago(presence.connected_since))
    : div(
        { class: 'stack' },
        p(null, 'A runner runs a command of yours for each delivery, on any machine that reaches this one.'),
        presence?.last_seen_at
          ? p(null, 'Last seen ', ago(presence.last_seen_at))
          : p({ class: 'quiet' }, badge('waiting', 'waiting for a runner')),
        earlierCommand(visit, progress),
        key,
      );
  return { name: 'runner', title: 'Runner', isDone: isConnected || delivery?.status === 'done', content };
};

/** Says why the newest delivery does not get to the runner. */
const refusedNote = ({ params }: Visit, { id, integration_id, outcome, reason }: Delivery): Child => {
  const at = (rest: string) => tenantPath(params.tenant_id!, rest);
  return div(
    { class: 'stack', 'data-refused': outcome },
    p(null, badge(outcome), ` Reason: ${reason ?? 'unknown'}. `, a({ href: at(`/deliveries/${id}`) }, 'Every step of it')),
    reason?.startsWith('signature_')
      ? p(
          null,
          'The sender got the answer 401. Compare its secret and the way it signs with ',
          a({ href: at(`/integrations/${integration_id}`) }, 'the integration'),
          '.',
        )
      : null,
  );
};

const deliveryStep = (visit: Visit, { integration, delivery, refused }: Progress): Step => {
  const params = { tenant_id: visit.params.tenant_id!, id: integration?.id ?? '' };
  const wasSent = delivery !== null || refused !== null;
  const look = { icon: 'send', returnTo: visit.path, isFirst: true, look: wasSent ? 'small' : 'primary' } as const;
  const send =
    integration && canSendSample(integration)
      ? actionButton(visit, visit.rows.sendTestDelivery, params, wasSent ? 'Send another' : 'Send a test delivery', look)
      : null;
  const text =
    integration && !canSendSample(integration)
      ? 'Only the sender can sign, because the secret is its public key. Let the sender send a delivery: it appears here.'
      : 'A sample of the sender, signed with the secret, through the same checks as a delivery from outside.';
  const content = div({ class: 'stack' }, refused ? refusedNote(visit, refused) : null, p(null, text), send);
  return { name: 'delivery', title: 'Test delivery', isDone: delivery !== null, content, hasNews: refused !== null };
};

/** Returns the time at which the log has stored a delivery; null if it is not known. */
const storedAt = ({ causation }: Delivery): string | null => causation.find(({ type }) => type === 'WebhookAccepted')?.at ?? null;

/** Lists how many milliseconds after its receipt a delivery was accepted, published and acknowledged. */
const timesOf = (delivery: Delivery): Child => {
  const { received_at, published_at, acknowledged_at } = delivery;
  const steps = [
    ['Accepted', storedAt(delivery)],
    ['Published', published_at],
    ['Acknowledged', acknowledged_at],
  ] as const;
  return dl(
    { class: 'facts' },
    ...steps.map(([name, at]) =>
      div(
        { 'data-time': name.toLowerCase() },
        dt(null, name),
        dd(null, at ? `after ${Math.max(0, between(received_at, at))} ms` : span({ class: 'quiet' }, 'not yet')),
      ),
    ),
  );
};

const watchStep = (visit: Visit, { delivery }: Progress): Step => {
  const isDone = delivery?.status === 'done';
  const content = delivery
    ? div(
        { class: 'stack' },
        p(
          null,
          badge(delivery.state),
          ' ',
          delivery.reason ? span(null, `Reason: ${delivery.reason}. `) : null,
          a({ href: tenantPath(visit.params.tenant_id!, `/deliveries/${delivery.id}`) }, 'Every step of it'),
        ),
        timesOf(delivery),
        isDone ? null : p(null, a({ class: 'button', href: visit.path }, icon('refresh-cw'), 'Check again')),
      )
    : p({ class: 'quiet' }, 'Accepted, published, acknowledged: each with its time.');
  return { name: 'watch', title: 'Watch it arrive', isDone, content };
};

const stepView = (current: string | undefined) => (step: Step, index: number) =>
  li(
    {
      class: step.isDone ? 'done' : step.name === current ? 'current' : 'later',
      'data-step': step.name,
      'data-done': String(step.isDone),
      'aria-current': step.name === current ? 'step' : null,
    },
    span({ class: 'dot' }, step.isDone ? icon('check') : String(index + 1)),
    div(
      null,
      h2(null, step.title, step.isDone ? span({ class: 'hidden' }, ' (done)') : null),
      // The content of a step needs the results of the steps before it. So it is shown only when these are done, or if
      // there is something new to say about it.
      step.isDone || step.name === current || step.hasNews ? step.content : null,
    ),
  );

/**
 * The page that guides through the first steps, from an empty tenant to an acknowledged delivery. Finished steps are
 * ticked.
 */
export const startPage = page({
  path: '/console/t/:tenant_id/start',
  permit: 'tenant:integrations:write',
  nav: 'Overview',
  categories: ['agent', 'integration', 'apikey', 'delivery', 'rejection', 'publication', 'acknowledgement', 'runnercredential'],
  polls: true,
  asks: (visit) => ({ progress: readProgress(visit) }),
  title: () => 'First steps',
  view: ({ progress }, visit) => {
    const title = heading('First steps', 'From nothing to an acknowledged delivery. You can leave this page and come back.');
    if (!progress.ok) return [title, problemPanel(progress.problem)];
    const steps = [agentStep, integrationStep, runnerStep, deliveryStep, watchStep].map((step) => step(visit, progress.value));
    const current = steps.find(({ isDone }) => !isDone)?.name;
    return [title, ol({ class: 'steps card' }, ...steps.map(stepView(current)))];
  },
});
