/**
 * Characters that control a terminal, change the writing direction or are invisible, but that JSON does not escape: DEL, C1, line and
 * paragraph separators, and the format characters of Unicode's general punctuation.
 */
const TERMINAL_CONTROLS = /[\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that JSON escapes
const C0_CONTROLS = /[\u0000-\u001f]/g;

const CONTROLS = new RegExp(`(?:${C0_CONTROLS.source}|${TERMINAL_CONTROLS.source})+`, 'g');

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes what JSON.stringify does not escape. */
export const escapeControls = (json: string): string => json.replace(TERMINAL_CONTROLS, escaped);

/** Replaces each run of control characters with a space. */
export const spaceControls = (text: string): string => text.replace(CONTROLS, ' ');

/** Escapes all characters that control a terminal, also line breaks. In a line of JSON, none of them changes its value. */
export const escapeLine = (line: string): string => escapeControls(line.replace(C0_CONTROLS, escaped));
