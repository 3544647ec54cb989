/** DEL, the C1 controls, line ends that JSON lets stand, and what turns the direction of writing: a terminal would obey them. */
const OBEYED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A line of JSON in which nothing moves a terminal: JSON.stringify escapes only what is below the space. */
export const escapeControls = (json: string): string =>
  json.replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
