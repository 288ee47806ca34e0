# fish completion for gtopo, which is asked for all words.

function __gtopo_complete
    set -l typed (commandline -opc) (commandline -ct)
    for answer in (gtopo help --complete -- $typed[2..-1] 2>/dev/null)
        if test "$answer" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $answer
        end
    end
end

complete -c gtopo -f -a '(__gtopo_complete)'
