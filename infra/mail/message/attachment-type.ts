/** Types that say only how a file is packed, or that it is a text. Its sender knows better what it is. */
const GENERAL = /^(?:text\/plain|application\/(?:octet-stream|zip|gzip|xml|x-cfb|x-ole-storage))$/;
const PICTURE_OR_SOUND = /^(?:image|audio|video|font)\/(?!svg)/;

/** Returns the declared type, unless the content is of a certain other type, or of none for a picture. */
export const attachmentType = (declared: string | undefined, detected: string): string => {
  // A text that is in UTF-8 needs no charset, and another one may be declared by mistake.
  if (detected === 'text/plain' && declared?.includes('; charset=')) return attachmentType(declared.split(';', 1)[0], detected);
  if (declared === undefined || declared === 'application/octet-stream' || !GENERAL.test(detected)) return detected;
  return detected === 'text/plain' && PICTURE_OR_SOUND.test(declared) ? detected : declared;
};
