import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from './tags.ts';
import { zoned } from './time.ts';

const { span } = tags;

type Held = NonNullable<ReplyOf<Rows['getDelivery']>['held']>;

const REASONS: Readonly<Record<string, string>> = { budget: 'the hourly budget is used up', earlier_held: 'earlier deliveries wait' };

export const heldText = ({ reason, until }: Held): Child =>
  span(null, REASONS[reason] ?? reason.replaceAll('_', ' '), until === null ? null : [' until ', zoned(until, 'minute')]);
