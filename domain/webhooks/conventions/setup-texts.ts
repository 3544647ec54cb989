/** The step of a setup in which people paste a secret that the platform has created. */
export const PASTE_SECRET = 'Paste the secret. Only the answer that created it shows it: if it is lost, replace it.';
