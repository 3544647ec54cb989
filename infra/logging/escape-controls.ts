/**
 * Matches characters that control a terminal but that JSON does not escape: DEL, the C1 controls, line and paragraph
 * separators, and characters that change the writing direction.
 */
const TERMINAL_CONTROLS = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes the characters that control a terminal and that JSON.stringify does not escape. */
export const escapeControls = (json: string): string =>
  json.replace(TERMINAL_CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
