import { type IconName, icon } from './icon.ts';
import { tags } from './tags.ts';

const { span } = tags;

/** The meaning of a state for the reader. It is shown by a colour, and also by an icon and a word. */
export type Tone = 'good' | 'warn' | 'bad' | 'dead' | 'busy' | 'calm';

const STATES: Readonly<Record<string, readonly [Tone, IconName]>> = {
  accepted: ['good', 'circle-check'],
  acknowledged: ['good', 'check-check'],
  done: ['good', 'check-check'],
  completed: ['good', 'circle-check'],
  active: ['good', 'circle-check'],
  live: ['good', 'radio'],
  connected: ['good', 'radio'],
  blocked: ['warn', 'ban'],
  paused: ['warn', 'circle-pause'],
  behind: ['warn', 'timer'],
  expired: ['warn', 'timer'],
  rejected: ['bad', 'shield-x'],
  failed: ['bad', 'circle-x'],
  terminated: ['bad', 'circle-x'],
  max_deliveries: ['bad', 'circle-x'],
  dead: ['dead', 'skull'],
  waiting: ['busy', 'clock'],
  running: ['busy', 'circle-dot'],
  rebuilding: ['busy', 'refresh-cw'],
  ready: ['busy', 'circle-dot'],
  cancelled: ['calm', 'ban'],
  inactive: ['calm', 'circle-dashed'],
};

/** Renders a state as a word with an icon and a colour. */
export const badge = (state: string, word: string = state.replaceAll('_', ' ')) => {
  const [tone, name] = STATES[state] ?? ['calm', 'circle'];
  return span({ class: `badge ${tone}`, 'data-state': state }, icon(name), word);
};
