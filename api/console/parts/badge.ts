import { type IconName, icon } from './icon.ts';
import { tags } from './tags.ts';

const { span } = tags;

/** What a state means for the reader. It is shown as a colour, an icon and a word. */
export type Tone = 'good' | 'warn' | 'bad' | 'dead' | 'busy' | 'calm';

const STATES: Readonly<Record<string, readonly [Tone, IconName]>> = {
  accepted: ['good', 'circle-check'],
  acknowledged: ['good', 'check-check'],
  done: ['good', 'check-check'],
  completed: ['good', 'circle-check'],
  active: ['good', 'circle-check'],
  live: ['good', 'radio'],
  promoted: ['good', 'check-check'],
  connected: ['good', 'radio'],
  fired: ['good', 'circle-check'],
  ok: ['good', 'circle-check'],
  blocked: ['warn', 'ban'],
  suppressed: ['warn', 'ban'],
  paused: ['warn', 'circle-pause'],
  behind: ['warn', 'timer'],
  parked: ['warn', 'circle-pause'],
  expired: ['warn', 'timer'],
  rejected: ['bad', 'shield-x'],
  failed: ['bad', 'circle-x'],
  missed: ['bad', 'circle-x'],
  degraded: ['warn', 'triangle-alert'],
  suspended: ['warn', 'ban'],
  closing: ['warn', 'timer'],
  deprecated: ['warn', 'timer'],
  down: ['bad', 'circle-x'],
  terminated: ['bad', 'circle-x'],
  max_deliveries: ['bad', 'circle-x'],
  no_writer: ['bad', 'plug'],
  lost: ['bad', 'circle-x'],
  dead: ['dead', 'skull'],
  waiting: ['busy', 'clock'],
  queued: ['busy', 'clock'],
  held: ['warn', 'circle-pause'],
  open: ['busy', 'clock'],
  approved: ['good', 'circle-check'],
  denied: ['bad', 'circle-x'],
  predicted: ['busy', 'clock'],
  running: ['busy', 'circle-dot'],
  retrying: ['warn', 'rotate-ccw'],
  rebuilding: ['busy', 'refresh-cw'],
  ready: ['busy', 'circle-dot'],
  catching_up: ['busy', 'refresh-cw'],
  opening: ['busy', 'circle-dot'],
  aborted: ['calm', 'ban'],
  cancelled: ['calm', 'ban'],
  skipped: ['calm', 'circle-dashed'],
  closed: ['calm', 'ban'],
  inactive: ['calm', 'circle-dashed'],
};

/** Renders a state as a word with an icon and a colour. */
export const badge = (state: string, word: string = state.replaceAll('_', ' ')) => {
  const [tone, name] = STATES[state] ?? ['calm', 'circle'];
  return span({ class: `badge ${tone}`, 'data-state': state }, icon(name), word);
};
