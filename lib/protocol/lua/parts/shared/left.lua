-- After that, if somebody watches: the token watches no more, or the watcher is sent a push if it could be let in now.
--@needs looking, telling
local function left(i, token, deleted)
  if read(i) then return end
  forget(token)
  if watch and watch[1] == token then
    drop('watch')
    keep()
  elseif deleted == 1 then
    keep()
    tell()
  end
end
