import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton } from '../action.ts';
import { mayOf } from '../agent-frame.ts';
import { historyLink } from '../history-link.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { counted, countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { externalLinks, linksOf } from '../parts/external-links.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { cents } from '../parts/money.ts';
import { nextCursor } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago, between, duration, exact } from '../parts/time.ts';
import { type MayOnAgent, mayReadDeliveries } from '../permission.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, aside, div, li, ol, p, pre, span, strong } = tags;

type Detail = ReplyOf<Rows['getTenantSession']>;
type Message = Detail['messages'][number];
type Models = ReadonlyMap<string, string>;

const ROLES: Readonly<Record<Message['role'], readonly [string, 'user' | 'bot' | 'cpu' | 'square-terminal']>> = {
  user: ['User', 'user'],
  assistant: ['Agent', 'bot'],
  system: ['System', 'cpu'],
  tool: ['Tool', 'square-terminal'],
};
const OPEN = ['pending', 'running', 'waiting'];

const useOf = ({ model_id, prompt_tokens, completion_tokens, cost_cents }: Message, models: Models): Child => {
  const isUsed = prompt_tokens + completion_tokens > 0;
  if (!isUsed && model_id === null) return null;
  return div(
    { class: 'message-use quiet' },
    model_id ? span(null, icon('layers'), ' ', models.get(model_id) ?? shortId(model_id, 'the id of the model')) : null,
    span(null, `${countText(prompt_tokens)} in, ${countText(completion_tokens)} out`),
    span({ class: 'mono' }, cents(cost_cents, isUsed)),
  );
};

const messageOf = (message: Message, models: Models) => {
  const [name, symbol] = ROLES[message.role];
  return li(
    { class: `message ${message.role}`, 'data-kind': 'message', 'data-id': message.id, id: `m-${message.id}` },
    div(
      { class: 'message-head' },
      span({ class: 'dot' }, icon(symbol)),
      strong(null, name),
      message.kind === 'waiting' ? badge('waiting', 'waits for an answer') : null,
      span({ class: 'quiet' }, ago(message.created_at)),
    ),
    message.content === null
      ? p({ class: 'quiet' }, 'The text can no longer be decrypted.')
      : pre({ class: 'message-text' }, message.content),
    useOf(message, models),
  );
};

type Around = { readonly first: string | null; readonly next: string | null };

/** Renders the messages of one page. `first` and `next` are the paths of the first and of the next page, if there are. */
const conversation = ({ messages }: Detail, models: Models, { first, next }: Around) =>
  messages.length === 0
    ? emptyState({ icon: 'message-square', title: 'No messages yet', why: 'The runner of the agent has appended none so far.' })
    : div(
        null,
        ol({ class: 'messages' }, ...messages.map((message) => messageOf(message, models))),
        first === null && next === null
          ? null
          : div(
              { class: 'actions' },
              first === null ? null : a({ class: 'button', href: first }, icon('arrow-left'), 'First messages'),
              next === null ? null : a({ class: 'button', href: next, rel: 'next' }, 'Later messages', icon('arrow-right')),
            ),
      );

const agentFacts = ({ session }: Detail, models: Models, at: (rest: string) => string) =>
  facts({
    Agent: a({ href: at(`/agents/${session.agent_id}`) }, session.agent_name ?? 'Open the agent'),
    Revision: a(
      { href: at(`/agents/${session.agent_id}?as_of=${encodeURIComponent(session.position)}`), 'data-revision': session.agent_revision },
      `${session.agent_revision}, as it was then`,
    ),
    Models:
      session.model_ids.length === 0
        ? 'none'
        : ol({ class: 'model-chain' }, ...session.model_ids.map((id) => li(null, models.get(id) ?? shortId(id, 'the id of the model')))),
  });

const costFacts = ({ session, total_tokens, prompt_tokens, completion_tokens, total_cost_cents }: Detail) =>
  facts({
    Cost: strong(null, cents(total_cost_cents, total_tokens > 0)),
    Tokens: `${countText(total_tokens)}: ${countText(prompt_tokens)} in, ${countText(completion_tokens)} out`,
    Messages: countText(session.message_count),
  });

/** Links to the delivery that a session processes. Visitors who may not open it see its id. */
const deliveryLink = (id: string, visit: Visit, onAgent: MayOnAgent): Child =>
  mayReadDeliveries(visit, onAgent)
    ? a({ href: tenantPath(visit.params.tenant_id!, `/deliveries/${id}`) }, 'Open the delivery')
    : shortId(id, 'the id of the delivery');

type Origin = { readonly visit: Visit; readonly onAgent: MayOnAgent; readonly links: Child };

const originFacts = ({ session, user_email, user_name }: Detail, { visit, onAgent, links }: Origin) =>
  facts({
    Session: shortId(session.id),
    Delivery: session.delivery_id ? deliveryLink(session.delivery_id, visit, onAgent) : null,
    'Cron run': session.cron_occurrence_id ? shortId(session.cron_occurrence_id, 'the id of the occurrence') : null,
    User: user_email ? span(null, user_name ?? user_email) : null,
    Started: exact(session.started_at),
    Ended: session.completed_at ? exact(session.completed_at) : null,
    Took: session.completed_at ? duration(Math.max(0, between(session.started_at, session.completed_at))) : null,
    Expires: OPEN.includes(session.status) ? exact(session.expires_at) : null,
    'See also': links,
  });

const filesCard = ({ attachments }: Detail) =>
  attachments.length === 0
    ? null
    : card(
        'Files',
        ol(
          { class: 'lines' },
          ...attachments.map(({ filename, size_bytes, sha256, content_type }) =>
            li(
              null,
              span(null, filename, ' ', span({ class: 'quiet' }, content_type)),
              span({ class: 'quiet' }, `${counted(size_bytes, 'byte')} `, shortId(sha256, 'the digest')),
            ),
          ),
        ),
      );

/** Whether the visitor may cancel a session. They may if they may assign work to the agent of the session. */
const mayCancel = (onAgent: MayOnAgent, { session }: Detail): boolean => OPEN.includes(session.status) && onAgent('agent:assign');

const ending = ({ session: { summary, error } }: Detail): Child =>
  summary || error
    ? card(
        error ? 'Why it failed' : 'What it achieved',
        pre({ class: error ? 'message-text bad' : 'message-text' }, error ?? summary ?? ''),
      )
    : null;

/**
 * The page of a session: its conversation, the cost of each message, and the state of the agent when the session
 * started.
 */
export const sessionPage = page({
  path: '/console/t/:tenant_id/sessions/:session_id',
  permit: 'tenant:audit:read',
  nav: 'Sessions',
  categories: ['session'],
  asks: (visit: Visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const cursor = query.get('cursor');
    const session = ask(rows.getTenantSession, { tenant_id, session_id: params.session_id!, ...(cursor ? { cursor } : {}) });
    return {
      session,
      tenant: ask(rows.readTenant, { tenant_id }),
      models: ask(rows.listModels, { tenant_id, limit: 200 }),
      access: session.then((found) =>
        found.ok ? ask(rows.readEffectivePermissions, { tenant_id, agent_id: found.value.session.agent_id }) : found,
      ),
    };
  },
  title: ({ session }) => (session.ok ? (session.value.session.title ?? 'Session') : 'Session'),
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Sessions', tenantPath(params.tenant_id!, '/sessions')],
  ],
  view: ({ session, tenant, models, access }, visit) => {
    if (!session.ok) return [heading('Session', null), problemPanel(session.problem)];
    const { value } = session;
    const { id, title, status, agent_name } = value.session;
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const names: Models = new Map(models.ok ? models.value.map((model) => [model.id, model.slug]) : []);
    const next = nextCursor(session);
    const around: Around = {
      first: visit.query.has('cursor') ? withQuery(visit, { cursor: null }) : null,
      next: next && withQuery(visit, { cursor: next }),
    };
    const onAgent = mayOf(access as Parameters<typeof mayOf>[0]);
    const { delivery_id } = value.session;
    const links = externalLinks(linksOf(tenant), { id, delivery_id, tenant_id: visit.params.tenant_id! });
    const cancel = mayCancel(onAgent, value)
      ? actionButton(visit, visit.rows.cancelSession, { tenant_id: visit.params.tenant_id!, session_id: id }, 'Cancel the session', {
          icon: 'ban',
          look: 'danger',
          confirm: 'The runner is told to stop. What it has done so far stays.',
        })
      : null;
    return [
      div(
        { 'data-kind': 'session', 'data-id': id, 'data-position': session.position },
        heading(
          span(null, title ?? 'Untitled session', ' ', badge(status)),
          span(null, `${agent_name ?? 'An agent'} · `, ago(value.session.started_at)),
          cancel,
          historyLink(visit, id),
        ),
        div(
          { class: 'detail' },
          div({ class: 'detail-main' }, ending(value), card('Conversation', conversation(value, names, around)), filesCard(value)),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Cost', costFacts(value)),
            card('Agent', agentFacts(value, names, at)),
            card(
              'Origin',
              originFacts(value, { visit, onAgent, links }),
              delivery_id ? null : p({ class: 'quiet' }, 'It processes no delivery.'),
            ),
          ),
        ),
      ),
    ];
  },
});
