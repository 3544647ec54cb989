import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, createSockets, post, type SentDelivery, sign } from './load.ts';
import { type Deployment, judge, type OutageReport, withoutRejectedRows } from './outage-trial.ts';
import { expectReply, type RunningPlatform } from './running-platform.ts';
import type { Hook } from './tenants.ts';

export type RotationOptions = {
  readonly rotations: number;
  /** The time for which the old secret of an integration stays valid. */
  readonly overlapSeconds: number;
  readonly perSecond: number;
};

/**
 * For this many milliseconds before and after the end of the overlap, a request with the old secret may be accepted or
 * refused.
 */
const MARGIN_MS = 1_000;
const AFTER_MS = 3_000;

type Phase = 'overlap' | 'end' | 'after';

const phaseAt = (now: number, endsAt: number): Phase => {
  if (now < endsAt - MARGIN_MS) return 'overlap';
  return now < endsAt + MARGIN_MS ? 'end' : 'after';
};

/**
 * Checks the answer to a request that was signed with the old or the new secret. `phases` has the phase of the rotation
 * when the request was sent, and when it was answered. Returns a message if the answer is wrong, otherwise null.
 */
const wrongAnswer = ({ kind, detail }: Answer, isOld: boolean, phases: readonly Phase[]): string | null => {
  const secret = isOld ? 'old' : 'new';
  if (isOld && phases.includes('end')) return null;
  if (isOld && phases.every((phase) => phase === 'after'))
    return kind === 'refused' && detail.startsWith('401') ? null : `after the overlap, the old secret was ${kind}`;
  if (isOld && phases.includes('after')) return null;
  return kind === 'accepted' ? null : `during the rotation, the ${secret} secret was ${kind} ${detail.slice(0, 100)}`;
};

/**
 * Replaces the secrets of integrations under load (fault F26). Until the overlap ends, requests with the old and with
 * the new secret must be accepted. Afterwards, requests with the old secret must be refused.
 */
export const runSecretRotations = async (deployment: Deployment<RunningPlatform>, options: RotationOptions): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const sockets = createSockets();
  const sent: SentDelivery[] = [];
  const wrong: string[] = [];
  const counts = { overlap: 0, end: 0, after: 0, refused: 0 };

  const postWith = async (hook: Hook, secret: string, isOld: boolean, endsAt: number): Promise<void> => {
    const body = JSON.stringify({ number: sent.length, unique: randomUUID() });
    const delivery: SentDelivery = { number: sent.length, hook, deliveryId: randomUUID(), body, answers: [] };
    const before = phaseAt(Date.now(), endsAt);
    const answer = await post(platform.url, sockets, { ...delivery, signature: sign(body, secret) });
    const problem = wrongAnswer(answer, isOld, [before, phaseAt(Date.now(), endsAt)]);
    if (problem) wrong.push(problem);
    counts[before]++;
    if (answer.kind === 'refused') counts.refused++;
    else sent.push({ ...delivery, answers: [answer] });
  };

  const rotate = async (hook: Hook, old: string): Promise<string> => {
    const next = `github-${randomBytes(24).toString('base64url')}`;
    const path = `/tenant/${hook.agent.tenant.id}/webhook-integrations/${hook.id}/rotate-secret`;
    const fields = { overlap_seconds: options.overlapSeconds, secret: next };
    const rotated = platform.call('POST', path, fields, hook.agent.tenant);
    const pending: Promise<void>[] = [];
    // Send deliveries with the old secret while the rotation request is not answered. All of them must be accepted.
    for (let isDone = false; !isDone; ) {
      pending.push(postWith(hook, old, true, Number.POSITIVE_INFINITY));
      isDone = await Promise.race([rotated.then(() => true), sleep(1_000 / options.perSecond, false)]);
    }
    await expectReply(rotated, 200);
    const endsAt = Date.now() + options.overlapSeconds * 1_000;
    for (let count = 0; Date.now() < endsAt + AFTER_MS; count++) {
      const isOld = count % 2 === 0;
      pending.push(postWith(hook, isOld ? old : next, isOld, endsAt));
      await sleep(1_000 / options.perSecond);
    }
    await Promise.all(pending);
    return next;
  };

  const secrets = new Map(hooks.map((hook) => [hook, hook.secret]));
  for (let round = 0; round < options.rotations; round++) {
    const hook = hooks[round % hooks.length]!;
    secrets.set(hook, await rotate(hook, secrets.get(hook)!));
  }
  sockets.destroy();
  const report = await judge(deployment, sent);
  const [findings, figures] = [withoutRejectedRows(report.findings), report.figures];
  return {
    findings: { ...findings, unexpected: [...findings.unexpected, ...wrong] },
    figures: {
      rotations: options.rotations,
      'requests during the overlap': counts.overlap,
      'requests around its end': counts.end,
      'requests after it': counts.after,
      'refused with the old secret': counts.refused,
      ...figures,
    },
  };
};
