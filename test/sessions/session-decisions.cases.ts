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

export const cases: AreaCases = { decisions };
