-- Tokens as keys hold them.

-- Whether a key's value has the shape of this library's tokens, with the mark or without.
--@inline
local function isOurs(owner)
  return (
    #(string.match(owner, OWN_SHAPE) or '') == OWN_LENGTH and string.sub(owner, COLON_AT, COLON_AT) == ':'
  )
end

-- The value of a key that was handed over to that token.
--@inline
local function withMark(token)
  return token .. RESERVED_MARK
end
