import { AttemptReportCreate, type RecordAttempt, reportAttempt, requireOwnRunner } from '../../commands/runners/report-attempt.ts';
import { operation } from '../http/operation.ts';

/** Creates the operation with which runners report why an attempt failed. `record` stores reports in batches. */
export const attemptReportOperations = (record: RecordAttempt) => ({
  reportAttempt: operation({
    method: 'post',
    path: '/tenant/:tenant_id/deliveries/:delivery_id/attempts',
    summary: 'Report why an attempt of a delivery failed',
    details:
      'The texts are redacted with the patterns of the tenant and stored encrypted. A second report of the same attempt changes nothing. The answer is sent when the report is stored.',
    permit: 'any',
    permissionNote: "Requires the runner key of the delivery's agent.",
    preauthorize: (ctx, { delivery_id }) => requireOwnRunner(ctx, delivery_id!),
    body: AttemptReportCreate,
    status: 204,
    noETag: true,
    run: (ctx, input) => reportAttempt(ctx, input, record),
  }),
});
