import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { appendMessage, MessageAppend } from '../../commands/sessions/append-message.ts';
import { continueSession, SessionContinue } from '../../commands/sessions/continue-session.ts';
import { endSession, SessionEnd } from '../../commands/sessions/end-session.ts';
import { interruptSession } from '../../commands/sessions/interrupt-session.ts';
import { requireInterrupter, requireReader, requireWriter, type Writers } from '../../commands/sessions/session-access.ts';
import { withNames } from '../../commands/sessions/session-names.ts';
import { SessionStart, startSession } from '../../commands/sessions/start-session.ts';
import * as Session from '../../domain/sessions/session.ts';
import { sessionPage } from '../../projections/sessions/session.queries.ts';
import { AuditSessionDetailResponse, type SessionDoc, sessions, TaskSessionRead } from '../../projections/sessions/session.ts';
import { TaskMessageRead } from '../../projections/sessions/session-message.ts';
import type { Ctx, Operation } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';
import { readSession, transcriptQuery } from './session-transcript.ts';

const AGENT_SESSIONS = '/tenant/:tenant_id/agents/:agent_id/sessions';
const SESSION = '/tenant/:tenant_id/sessions/:session_id';

const StatusFilter = z.enum(Session.SESSION_STATUSES).optional().meta({ description: 'Only sessions with this status' });

/**
 * Returns the check that the caller may write to the session in the path. As `preauthorize`, it runs before the body is
 * validated.
 */
const checkWriter =
  (others: Writers): NonNullable<Operation['preauthorize']> =>
  (ctx: Ctx, { session_id }) =>
    requireWriter(ctx, session_id!, others);

const RUNNER_ONLY = "Requires the runner key of the session's agent.";

const ASSIGNERS = "Requires the runner key of the session's agent, or the permission `agent:assign` on it.";

const PERSONS = "Requires the permission `agent:assign` on the session's agent. A runner cannot interrupt itself.";

const endOperation = (action: string, type: Session.EndEvent, summary: string) =>
  operation({
    method: 'post',
    path: `${SESSION}/${action}` as `${typeof SESSION}/end`,
    summary,
    details: 'The same request again changes nothing. A session that has ended in another way is refused with 409.',
    permit: 'any',
    inSuspendedTenant: true,
    permissionNote: type === 'SessionCancelled' ? ASSIGNERS : RUNNER_ONLY,
    preauthorize: checkWriter(type === 'SessionCancelled' ? 'assigners' : 'runner'),
    body: SessionEnd,
    reply: TaskSessionRead,
    run: endSession(type),
  });

export const sessionOperations = {
  startSession: operation({
    method: 'post',
    path: AGENT_SESSIONS,
    summary: 'Start a session of an agent',
    details:
      'The session records the revision and the model chain of the agent. An inactive agent is refused with 409. If a person starts the session, the runner gets a message of the type `annals.session.started`.',
    permit: { all: ['agent:assign'], runner: true },
    body: SessionStart,
    reply: TaskSessionRead,
    status: 201,
    location: '/tenant/:tenant_id/sessions/:id',
    run: startSession,
  }),
  listSessions: operation({
    method: 'get',
    path: AGENT_SESSIONS,
    summary: "List an agent's sessions",
    permit: { all: ['agent:chat:read'], runner: true },
    query: listQuery({ status: StatusFilter }),
    reply: z.array(TaskSessionRead),
    projection: sessions.name,
    run: async (ctx, { tenant_id, agent_id, status, ...query }) => {
      await loadAgent(ctx, agent_id);
      const page = await sessionPage(ctx.reads, { tenant_id, agent_id, status }, windowOf(query));
      return { ...page, body: JSON.stringify(z.array(TaskSessionRead).parse(await withNames(ctx, JSON.parse(page.body) as SessionDoc[]))) };
    },
  }),
  getSession: operation({
    method: 'get',
    path: SESSION,
    summary: 'Read a session with its messages',
    details:
      'The messages come from the log, where they are stored encrypted. If they are too large for one page, `Link` leads to the next.',
    permit: { all: ['tenant:read'], runner: 'in tenant' },
    permissionNote: "Requires the permission `agent:chat:read` on the session's agent, or that agent's runner key.",
    query: transcriptQuery,
    reply: AuditSessionDetailResponse,
    noConditionalGet: true,
    run: async (ctx, { session_id, ...window }) => {
      await requireReader(ctx, session_id);
      return readSession(ctx, session_id, window);
    },
  }),
  appendMessage: operation({
    method: 'post',
    path: `${SESSION}/messages`,
    summary: 'Append a message to a session',
    details:
      'Only the runner may report the use of a model. The content is stored encrypted. A message of a person reaches the runner as `annals.session.message`.',
    permit: 'any',
    permissionNote:
      "Requires the runner key of the session's agent. In a session that a person has started, users with the permission `agent:assign` on the agent may append messages of the role `user`.",
    preauthorize: checkWriter('persons'),
    body: MessageAppend,
    reply: TaskMessageRead,
    status: 201,
    location: SESSION,
    run: appendMessage,
  }),
  continueSession: operation({
    method: 'post',
    path: `${SESSION}/continue`,
    summary: 'Continue a session that has ended',
    details: 'Starts a session that names the old one as `continues_id`. A session that has not ended is refused with 409.',
    permit: 'any',
    permissionNote: ASSIGNERS,
    preauthorize: checkWriter('assigners'),
    body: SessionContinue,
    reply: TaskSessionRead,
    status: 201,
    location: '/tenant/:tenant_id/sessions/:id',
    run: continueSession,
  }),
  interruptSession: operation({
    method: 'post',
    path: `${SESSION}/interrupt`,
    summary: 'Ask the runner to stop what it does',
    details:
      'The runner gets a message of the type `annals.session.interrupted`, and the session continues. The same request again has no effect until something else has happened in the session.',
    permit: 'any',
    permissionNote: PERSONS,
    preauthorize: (ctx, { session_id }) => requireInterrupter(ctx, session_id!),
    reply: TaskSessionRead,
    run: interruptSession,
  }),
  completeSession: endOperation('complete', 'SessionCompleted', 'End a session as completed'),
  failSession: endOperation('fail', 'SessionFailed', 'End a session as failed'),
  cancelSession: endOperation('cancel', 'SessionCancelled', 'Cancel a session'),
};
