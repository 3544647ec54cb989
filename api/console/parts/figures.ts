import { countText } from './count-text.ts';
import { duration } from './time.ts';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a number of bytes in a suitable unit: `512 B`, `1.5 MiB`. */
export const sizeText = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} B` : `${(bytes / 1_024 ** power).toFixed(1)} ${UNITS[power]}`;
};

const FORMATS: readonly (readonly [suffix: string, format: (value: number) => string])[] = [
  ['_bytes', sizeText],
  ['_milliseconds', duration],
  ['_seconds', (value) => duration(value * 1_000)],
];

/** Formats a measured value. The end of its name is its unit: `free_bytes` and 2048 become `free` and `2.0 KiB`. */
export const figure = (name: string, value: number): readonly [name: string, value: string] => {
  const [suffix, format] = FORMATS.find(([one]) => name.endsWith(one)) ?? ['', countText];
  return [name.slice(0, name.length - suffix.length).replaceAll('_', ' '), format(value)];
};
