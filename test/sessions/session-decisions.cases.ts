import fc from 'fast-check';
import * as ReplayJob from '../../domain/deliveries/replay-job.ts';
import { omit } from '../../domain/omit.ts';
import { DECISIONS } from '../../domain/sessions/approval.ts';
import { decideApproval } from '../../domain/sessions/decide-approval.ts';
import { expire } from '../../domain/sessions/expire-session.ts';
import * as SentEvent from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const EARLIER = '2025-12-31T00:00:00.000Z';
const ended = { sealed_summary: null, sealed_error: null };
const { agent_id, title, delivery_id, cron_occurrence_id, user_id, agent_revision, model_ids, model_id, position } = Session.initial;
const started = { agent_id, title, delivery_id, cron_occurrence_id, user_id, agent_revision, model_ids, model_id, position };
const openSession = [{ type: 'SessionStarted', data: { ...started, expires_at: NOW } } as const];

const openApproval = {
  type: 'ApprovalRequested',
  data: { agent_id, message_id: 'm', expires_at: null, sha256: '', sealed_request: '' },
} as const;

const selection = omit(ReplayJob.initial, 'done', 'skipped', 'error', 'status', 'created_at', 'advanced_at', 'finished_at');

const decisions: AreaCases['decisions'] = [
  repeated(Session, openSession, {
    'sessions/session.ts end': fc
      .constantFrom<Session.EndEvent[]>('SessionCompleted', 'SessionFailed', 'SessionCancelled')
      .map((type) => Session.end(type, ended, EARLIER)),
  }),
  repeated(Session, openSession, {
    'sessions/sent-event.ts cancel': fc.constant(SentEvent.cancel(ended, EARLIER)),
    'sessions/sent-event.ts interrupt': fc.constant(SentEvent.interrupt(EARLIER)),
    'sessions/sent-event.ts repeatSent': fc
      .constantFrom('sent-1', 'sent-2')
      .map((event_id) => SentEvent.repeatSent({ event_id, revision: 1, message_id: event_id })),
  }),
  repeated(Session, openSession, { 'sessions/expire-session.ts expire': fc.constant(expire(NOW)) }),
  repeated(Session, [...openSession, openApproval], {
    'sessions/decide-approval.ts decideApproval': fc
      .constantFrom(...DECISIONS)
      .map((decision) => decideApproval('m', { decision, sealed_comment: null }, EARLIER)),
  }),
  repeated(ReplayJob, [], {
    'deliveries/replay-job.ts request': fc.constant(ReplayJob.request({ ...selection, ids: ['a', 'b', 'c'] })),
    'deliveries/replay-job.ts advance': fc.integer({ min: 0, max: 3 }).map((done) => ReplayJob.advance({ done, skipped: 0, error: null })),
    'deliveries/replay-job.ts cancel': fc.constant(ReplayJob.cancel),
  }),
];

const stored: AreaCases['stored'] = [
  {
    event: {
      stream: 'session-cx4n0qq6swaykccpuavupuuiu.cse55i0n5x4q7w8e3r6y0u5i2',
      revision: 6,
      type: 'SessionMessageRepeated',
      data: { agent_id: 'czgfdv4q2z6ftmeita38ua7fz', repeats: '1b3f1a52-0d2c-4d07-9a52-3f1d2f9a7c12', revision: 1 } as object,
      meta: { tenant: 'cx4n0qq6swaykccpuavupuuiu', actor: { kind: 'system', id: 'redrive' }, at: '2026-10-01T12:20:00.000Z', v: 1 },
    },
  },
];

export const cases: AreaCases = { decisions, stored };
