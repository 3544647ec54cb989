import fc from 'fast-check';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import * as Release from '../../domain/deliveries/release.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

const decisions: AreaCases['decisions'] = [
  repeated(Delivery, [{ type: 'WebhookAccepted', data: new Uint8Array() }], {
    'deliveries/delivery.ts requeueDead': fc.constantFrom('event-0', 'event-1').map((message) => Delivery.requeueDead(message, 'a')),
    'deliveries/delivery.ts repeatLost': fc.constantFrom('event-0', 'event-1').map((message) => Delivery.repeatLost(message)),
  }),
  repeated(Delivery, [{ type: 'WebhookHeld', data: new Uint8Array() }], {
    'deliveries/release.ts releaseHeld': fc.constant(Release.releaseHeld({ guardrails: [] })),
    'deliveries/release.ts expireHeld': fc.constant(Release.expireHeld),
  }),
];

export const cases: AreaCases = { decisions };
